// Reference answers strategic merge patch requests, one JSON line each, with
// what k8s.io/apimachinery/pkg/util/strategicpatch does.
//
//	{"op": "apply", "kind": "apps/v1 Deployment", "original": {..}, "patch": {..}}
//	{"op": "two_way", "original": {..}, "modified": {..}, ..}
//	{"op": "three_way", "original": {..}|null, "modified": {..}, "current": {..}, ..}
//	{"op": "three_way_apply", ..}, as three_way: current with that patch applied
//	{"op": "compose", "patches": [{..}, ..], ..}
//	{"op": "conflicts", "left": {..}, "right": {..}, ..}
//	{"op": "server_side_apply", "current": {..}, "modified": {..}, "manager": "a", ..}
//	{"op": "track", ..}, as server_side_apply: managed fields of a write that is none
//	{"op": "define", "name": "1.37", "definitions": {NAME: SCHEMA}}
//	{"op": "quantities", "texts": ["1e3", ..]}, and "quantity_pairs", "times", "durations"
//
// "lookup" is "struct" (the default: the Go type of "kind") or "openapi": the
// root is "schema", or the definition called "root"; references are resolved in
// "definitions", or in the set defined as "definitions_name".
//
// Server-side apply is done by k8s.io/apimachinery/pkg/util/managedfields, with the
// OpenAPI schemas of "definitions_name". With "_parsed" after the name of its operations
// the objects are decoded before, and there is no result.
//
// An answer is {"result": ..}, {"error": text} or {"panic": text}; a request
// that makes no sense gets {"bad_request": text}. "repeat": N answers
// {"results": [..]}, the distinct outcomes of N runs, because the library walks
// Go maps and they have no order. "time": N adds "nanoseconds": [..] to the
// outcome of the last of N runs, each from bytes to bytes.
//
// A null or missing document is no document: the library gets no bytes, as it
// does from kubectl for an object without last-applied configuration.
package main

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"
)

func main() {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			writeLine(out, answer(line))
		}
		if err != nil || in.Buffered() == 0 {
			flush(out)
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

func writeLine(out *bufio.Writer, response any) {
	line, err := stdjson.Marshal(response)
	if err != nil {
		log.Fatal(err)
	}
	out.Write(append(line, '\n')) // a failure stays with the writer until flush
}

func flush(out *bufio.Writer) {
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

type object = map[string]any

func answer(line []byte) object {
	operation, request, err := parse(line)
	switch {
	case err != nil:
		return object{"bad_request": err.Error()}
	case operation == nil:
		return object{"result": nil}
	case request.Time > 0:
		return timed(operation, request.Time)
	case request.Repeat > 1:
		return object{"results": distinct(operation, request.Repeat)}
	}
	return outcome(operation)
}

// outcome runs the operation once; a panic of the library is an answer too.
func outcome(run operation) (answer object) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = object{"panic": fmt.Sprint(cause)}
		}
	}()
	result, err := run()
	if err != nil {
		return object{"error": err.Error()}
	}
	return object{"result": stdjson.RawMessage(result)}
}

func distinct(run operation, times int) []stdjson.RawMessage {
	outcomes := map[string]bool{}
	for range times {
		text, err := stdjson.Marshal(outcome(run))
		if err != nil {
			log.Fatal(err)
		}
		outcomes[string(text)] = true
	}
	var found []stdjson.RawMessage
	for _, text := range slices.Sorted(maps.Keys(outcomes)) {
		found = append(found, stdjson.RawMessage(text))
	}
	return found
}

func timed(run operation, times int) object {
	runtime.GC() // garbage of earlier requests is not counted
	var last object
	nanoseconds := make([]int64, times)
	for i := range times {
		start := time.Now()
		last = outcome(run)
		nanoseconds[i] = time.Since(start).Nanoseconds()
	}
	last["nanoseconds"] = nanoseconds
	return last
}
