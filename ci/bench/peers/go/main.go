// Checks histories of logs with porcupine and prints what that cost, one JSON object.
//
// A line of the input is an operation: partition, call, return, whether it appends, offset, records,
// and the length that its answer tells. Offsets fix the order of appends, so the state is a length:
// the smallest that a model of a log can have.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"syscall"

	"github.com/anishathalye/porcupine"
)

type claim struct {
	appends                 bool
	offset, records, length int64
}

var model = porcupine.Model{
	Init: func() interface{} { return int64(0) },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		length, told := state.(int64), input.(claim)
		if told.appends {
			return told.offset == length, length + told.records
		}
		return told.length == length && told.offset+told.records <= length, length
	},
	Equal: func(one, other interface{}) bool { return one == other },
}

func read(path string) (map[int64][]porcupine.Operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	found := map[int64][]porcupine.Operation{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var partition, call, answer, appends int64
		var told claim
		_, err := fmt.Sscan(lines.Text(), &partition, &call, &answer, &appends,
			&told.offset, &told.records, &told.length)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, lines.Text(), err)
		}
		told.appends = appends == 1
		found[partition] = append(found[partition],
			porcupine.Operation{Input: told, Call: call, Return: answer})
	}
	return found, lines.Err()
}

func processorSeconds() (float64, float64) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	seconds := func(time syscall.Timeval) float64 { return float64(time.Sec) + float64(time.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime), float64(usage.Maxrss) / 1000
}

func main() {
	histories, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	illegal := []int64{}
	before, _ := processorSeconds()
	for partition, operations := range histories {
		if !porcupine.CheckOperations(model, operations) {
			illegal = append(illegal, partition)
		}
	}
	after, peak := processorSeconds()
	sort.Slice(illegal, func(i, j int) bool { return illegal[i] < illegal[j] })
	err = json.NewEncoder(os.Stdout).Encode(map[string]interface{}{
		"seconds": after - before, "illegal": illegal, "peak_mb": peak,
	})
	if err != nil {
		os.Exit(2)
	}
}
