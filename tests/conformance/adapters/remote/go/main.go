// Command toybroker is a broker of logs without replication, and the adapter that puts it under
// test.
//
//	toybroker                              the adapter: JSON lines on standard input and output
//	toybroker broker DIR RUN_ID ID EPOCH   one broker: the same lines for its partitions
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"sync"
	"time"
)

const lineBytesMax = 1 << 20

// A call has the fields of all verbs.
type call struct {
	Verb       string   `json:"verb"`
	ID         int64    `json:"id"`
	DeadlineMs int      `json:"deadline_ms"`
	Folder     string   `json:"folder,omitempty"`
	RunID      string   `json:"run_id,omitempty"`
	BrokerID   int      `json:"broker_id"`
	Topic      string   `json:"topic"`
	Partition  int      `json:"partition"`
	Assignment [][]int  `json:"assignment,omitempty"`
	Values     []string `json:"values"`
	Offset     int      `json:"offset"`
	MaxRecords int      `json:"max_records"`
}

type answer map[string]any

type partition struct {
	topic  string
	number int
}

func refused(code string, definite bool) answer {
	return answer{"status": "error", "error_code": code, "definite": definite}
}

func main() {
	if len(os.Args) == 6 && os.Args[1] == "broker" {
		serve(newStore(os.Args[2], os.Args[3], number(os.Args[4]), number(os.Args[5])).answer)
		return
	}
	a := &adapter{brokers: map[int]*broker{}, replicas: map[partition]int{}}
	var atWork sync.WaitGroup
	serve(func(c call) answer {
		if c.Verb != "produce" && c.Verb != "fetch" && c.Verb != "list_offsets" {
			return a.answer(c)
		}
		atWork.Add(1)
		go func() { // a broker that stands still delays only its own clients
			defer atWork.Done()
			write(c.ID, a.askLeader(c))
		}()
		return nil
	})
	for _, b := range a.brokers {
		b.process.Process.Kill()
	}
	atWork.Wait()
}

func number(text string) int {
	found, err := strconv.Atoi(text)
	fail(err)
	return found
}

// serve answers each line until the last call; a nil answer comes later.
func serve(respond func(call) answer) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, lineBytesMax)
	for lines.Scan() {
		var c call
		fail(json.Unmarshal(lines.Bytes(), &c))
		if found := respond(c); found != nil {
			write(c.ID, found)
		}
		if c.Verb == "bye" {
			return
		}
	}
}

var output sync.Mutex

func write(id int64, a answer) {
	a["id"] = id
	if a["status"] == nil {
		a["status"] = "ok"
	}
	line, err := json.Marshal(a)
	fail(err)
	output.Lock()
	defer output.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// An adapter starts brokers and knows which of them has each partition.
type adapter struct {
	folder   string
	runID    string
	mutex    sync.Mutex
	brokers  map[int]*broker
	replicas map[partition]int
}

func (a *adapter) answer(c call) answer {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	switch c.Verb {
	case "hello":
		return answer{
			"protocol": 1, "name": "toybroker", "capabilities": []string{"processes"},
			"observes": answer{"roles": "exact", "appends": "exact", "high_watermarks": "exact"},
		}
	case "cluster_create":
		a.folder, a.runID = c.Folder, c.RunID
		return answer{}
	case "node_start":
		return a.start(c.BrokerID)
	case "topic_create":
		return a.createTopic(c)
	case "metadata":
		return answer{"broker_ids": a.live(), "partitions": a.routes()}
	case "observe":
		return a.observe()
	case "cluster_destroy", "bye":
		return answer{}
	}
	return answer{"status": "unsupported"}
}

func (a *adapter) createTopic(c call) answer {
	for _, replicas := range c.Assignment {
		if len(replicas) != 1 {
			return refused("INVALID_REPLICA_ASSIGNMENT", true)
		}
	}
	for number, replicas := range c.Assignment {
		a.replicas[partition{c.Topic, number}] = replicas[0]
	}
	return answer{}
}

func (a *adapter) live() []int {
	found := []int{}
	for id, b := range a.brokers {
		if b.isLive() {
			found = append(found, id)
		}
	}
	sort.Ints(found)
	return found
}

func (a *adapter) routes() []answer {
	found := []answer{}
	for key, id := range a.replicas {
		if b := a.brokers[id]; b.isLive() {
			found = append(found, answer{
				"topic": key.topic, "partition": key.number, "leader": id, "leader_epoch": b.epoch,
			})
		}
	}
	return found
}

func (a *adapter) observe() answer {
	brokers, partitions := []answer{}, []answer{}
	for _, id := range a.live() {
		brokers = append(brokers, answer{"broker_id": id, "broker_epoch": a.brokers[id].epoch})
	}
	for key, id := range a.replicas {
		leader, b := -1, a.brokers[id]
		if b.isLive() {
			leader = id
		}
		partitions = append(partitions, answer{
			"topic": key.topic, "partition": key.number, "assigned_replicas": []int{id},
			"leader": leader, "leader_epoch": b.epoch, "isr": []int{id},
		})
	}
	found := answer{"brokers": brokers, "partitions": partitions}
	if live := a.live(); len(live) > 0 {
		found["controller_id"] = live[0]
	}
	return found
}

func (a *adapter) start(id int) answer {
	epoch := 1
	if before := a.brokers[id]; before != nil {
		<-before.ended
		epoch += before.epoch
	}
	self, err := os.Executable()
	fail(err)
	folder := filepath.Join(a.folder, fmt.Sprintf("broker-%d", id))
	b := &broker{
		epoch: epoch, process: exec.Command(
			self, "broker", folder, a.runID, strconv.Itoa(id), strconv.Itoa(epoch)),
		waiting: map[int64]chan answer{}, ended: make(chan struct{}),
	}
	b.process.Stderr = os.Stderr
	input, err := b.process.StdinPipe()
	fail(err)
	b.calls = json.NewEncoder(input)
	lines, err := b.process.StdoutPipe()
	fail(err)
	fail(b.process.Start())
	go b.read(json.NewDecoder(lines))
	a.brokers[id] = b
	return answer{"pid": b.process.Process.Pid}
}

func (a *adapter) askLeader(c call) answer {
	a.mutex.Lock()
	id, isKnown := a.replicas[partition{c.Topic, c.Partition}]
	b := a.brokers[id]
	a.mutex.Unlock()
	if !isKnown || id != c.BrokerID {
		return refused("NOT_LEADER_OR_FOLLOWER", true)
	}
	if !b.isLive() {
		return refused("BROKER_NOT_AVAILABLE", true)
	}
	return b.ask(c)
}

// A broker as the adapter has it.
type broker struct {
	epoch   int
	process *exec.Cmd
	mutex   sync.Mutex
	calls   *json.Encoder
	waiting map[int64]chan answer
	ended   chan struct{}
}

func (b *broker) isLive() bool {
	select {
	case <-b.ended:
		return false
	default:
		return true
	}
}

// read gives each answer to the call that waits for it, until the broker has ended.
func (b *broker) read(lines *json.Decoder) {
	for {
		var found answer
		if lines.Decode(&found) != nil {
			break
		}
		b.mutex.Lock()
		id := int64(found["id"].(float64))
		b.waiting[id] <- found
		delete(b.waiting, id)
		b.mutex.Unlock()
	}
	b.process.Wait()
	close(b.ended)
}

// ask is indefinite when the broker ends meanwhile: it may have appended before.
func (b *broker) ask(c call) answer {
	arrives := make(chan answer, 1)
	b.mutex.Lock()
	b.waiting[c.ID] = arrives
	b.calls.Encode(c) // a broker that is gone is seen below
	b.mutex.Unlock()
	select {
	case found := <-arrives:
		return found
	case <-b.ended:
		return refused("BROKER_NOT_AVAILABLE", false)
	case <-time.After(time.Duration(c.DeadlineMs) * time.Millisecond / 2):
		return refused("REQUEST_TIMED_OUT", false)
	}
}

// A store is what one broker keeps: a file of JSON strings for each partition. It tells its trace.
type store struct {
	folder, runID  string
	id, epoch, seq int
	logs           map[partition]*log
	trace          *os.File
}

func newStore(folder, runID string, id, epoch int) *store {
	fail(os.MkdirAll(folder, 0o755))
	name := filepath.Join(filepath.Dir(folder), fmt.Sprintf("trace-broker-%d.ndjson", id))
	trace, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	fail(err)
	return &store{
		folder: folder, runID: runID, id: id, epoch: epoch, logs: map[partition]*log{}, trace: trace,
	}
}

// tell writes one line, of which the log ends at, and is committed up to, its last value.
func (s *store) tell(kind, action string, key partition, l *log, more answer) {
	line := answer{
		"run_id": s.runID, "node": fmt.Sprintf("broker-%d", s.id), "incarnation": s.epoch,
		"seq": s.seq, "mono_ns": time.Now().UnixNano(), "kind": kind, "action": action,
		"broker_id": s.id, "topic": key.topic, "partition": key.number, "leader_epoch": s.epoch,
		"log_end_offset": len(l.values), "high_watermark": len(l.values),
	}
	for name, value := range more {
		line[name] = value
	}
	text, err := json.Marshal(line)
	fail(err)
	s.trace.Write(append(text, '\n'))
	s.seq++
}

type log struct {
	file   *os.File
	values []string
}

func (s *store) answer(c call) answer {
	key := partition{c.Topic, c.Partition}
	l := s.open(key)
	end := len(l.values)
	found := answer{"high_watermark": end, "leader_epoch": s.epoch}
	switch c.Verb {
	case "produce":
		l.append(c.Values)
		told := answer{"offset": end, "values": c.Values, "high_watermark": end}
		s.tell("action", "LeaderAppend", key, l, told)
		s.tell("action", "AdvanceHighWatermark", key, l, answer{"isr": []int{s.id}})
		found["offset"], found["high_watermark"] = end, len(l.values)
		return found
	case "fetch":
		if c.Offset > end {
			return refused("OFFSET_OUT_OF_RANGE", true)
		}
		found["values"] = l.values[c.Offset:min(end, c.Offset+c.MaxRecords)]
	}
	found["log_end_offset"] = end
	return found
}

func (s *store) open(key partition) *log {
	if l := s.logs[key]; l != nil {
		return l
	}
	name := filepath.Join(s.folder, fmt.Sprintf("%s-%d.log", key.topic, key.number))
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	fail(err)
	l := &log{file: file, values: []string{}}
	lines := json.NewDecoder(file)
	for whole := int64(0); ; whole = lines.InputOffset() + 1 {
		var value string
		if lines.Decode(&value) != nil {
			info, err := file.Stat()
			fail(err)
			fail(file.Truncate(min(whole, info.Size()))) // a kill may have torn the last line
			break
		}
		l.values = append(l.values, value)
	}
	s.logs[key] = l
	s.tell("run", "LogRecovered", key, l, nil)
	s.tell("action", "BecomeLeader", key, l, answer{"leader": s.id, "isr": []int{s.id}})
	return l
}

func (l *log) append(values []string) {
	var lines []byte
	for _, value := range values {
		line, err := json.Marshal(value)
		fail(err)
		lines = append(append(lines, line...), '\n')
	}
	_, err := l.file.Write(lines)
	fail(err)
	l.values = append(l.values, values...)
}
