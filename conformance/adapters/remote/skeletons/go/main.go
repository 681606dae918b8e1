// Command adapter reads a call in each line of standard input, and writes an answer in each line of
// standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

const lineBytesMax = 1 << 20

// A call has the fields of all verbs.
type call struct {
	Verb       string   `json:"verb"`
	ID         int64    `json:"id"`
	DeadlineMs int      `json:"deadline_ms"`
	RunID      string   `json:"run_id"`
	Folder     string   `json:"folder"`
	BrokerIDs  []int    `json:"broker_ids"`
	BrokerID   int      `json:"broker_id"`
	Topic      string   `json:"topic"`
	Partition  int      `json:"partition"`
	Assignment [][]int  `json:"assignment"`
	Values     []string `json:"values"`
	Acks       int      `json:"acks"`
	TimeoutMs  int      `json:"timeout_ms"`
	Offset     int      `json:"offset"`
	MaxRecords int      `json:"max_records"`
	MaxWaitMs  int      `json:"max_wait_ms"`
}

type answer map[string]any

var unsupported = answer{"status": "unsupported"}

// verbs has a function for each verb that the adapter knows.
var verbs = map[string]func(call) answer{
	"hello": func(call) answer {
		return answer{"protocol": 1, "name": "my-log", "version": "0.1"}
	},
	"cluster_create":  func(call) answer { return unsupported },
	"node_start":      func(call) answer { return unsupported },
	"topic_create":    func(call) answer { return unsupported },
	"metadata":        func(call) answer { return unsupported },
	"observe":         func(call) answer { return unsupported },
	"produce":         func(call) answer { return unsupported },
	"fetch":           func(call) answer { return unsupported },
	"list_offsets":    func(call) answer { return unsupported },
	"node_kill":       func(call) answer { return unsupported },
	"node_stop":       func(call) answer { return unsupported },
	"cluster_destroy": func(call) answer { return unsupported },
	"bye":             func(call) answer { return answer{} },
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, lineBytesMax)
	for lines.Scan() {
		var c call
		fail(json.Unmarshal(lines.Bytes(), &c))
		found := unsupported
		if verb := verbs[c.Verb]; verb != nil {
			found = verb(c)
		}
		write(c.ID, found)
		if c.Verb == "bye" {
			return
		}
	}
}

func write(id int64, fields answer) {
	line := answer{"id": id, "status": "ok"}
	for name, value := range fields {
		line[name] = value
	}
	text, err := json.Marshal(line)
	fail(err)
	fmt.Println(string(text))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
