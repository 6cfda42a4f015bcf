// Command load makes requests to an API server for some seconds and times them.
//
// It reads a job as JSON from standard input and prints the result as JSON: the number
// of requests (or of events), the seconds, the latencies in milliseconds, and how often
// a server closed a connection. "@N@" in a path or a body is replaced by the number of
// the request.
//
// As clients of Kubernetes do, it goes on where a server closes a connection: the next
// request gets a new one, and a watch is resumed from the last resourceVersion that it
// delivered. An API server closes the watches of clients that it finds slow.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// job says what to request. With watchers, the first request is a patch of one object,
// and the events of the watchers are timed.
type job struct {
	URL, Token            string
	Method, Path, Body    string
	MediaType             string
	Connections, Watchers int
	WatchPath             string
	Seconds               float64
	// Requests, where it is not 0, is how many requests to make at most.
	Requests int64
	// Objects is how many different paths there are: @O@ is the number modulo this.
	Objects int
	// First is the number of the first request.
	First int64
}

type result struct {
	Count     int
	Seconds   float64
	Latencies []float64
	Closed    int64
}

var (
	marker  = regexp.MustCompile(`"replicas":(\d+)`)
	version = regexp.MustCompile(`"resourceVersion":"(\d+)"`)
	// closed counts the connections that a server closed before it had answered.
	closed int64
)

// mostClosed is when a server is said to fail instead.
const mostClosed = 1000

func main() {
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		fail(err)
	}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		MaxIdleConnsPerHost: j.Connections + j.Watchers + 1,
		DisableCompression:  true,
	}
	client := &http.Client{Transport: transport}
	var r result
	if j.Watchers > 0 {
		r = events(client, j)
	} else {
		r = requests(client, j)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		fail(err)
	}
}

func requests(client *http.Client, j job) result {
	next := j.First
	started := time.Now()
	until := started.Add(time.Duration(j.Seconds * float64(time.Second)))
	latencies := make([][]float64, j.Connections)
	var group sync.WaitGroup
	for c := range latencies {
		group.Add(1)
		go func(c int) {
			defer group.Done()
			for time.Now().Before(until) {
				number := atomic.AddInt64(&next, 1)
				if j.Requests > 0 && number > j.First+j.Requests {
					break
				}
				sent := time.Now()
				if do(client, j, number) {
					latencies[c] = append(latencies[c], milliseconds(sent))
				}
			}
		}(c)
	}
	group.Wait()
	r := result{Seconds: time.Since(started).Seconds()}
	for _, each := range latencies {
		r.Latencies = append(r.Latencies, each...)
	}
	r.Count = len(r.Latencies)
	r.Closed = closed
	return r
}

// events patches one object, one request after the other, and times the arrival of
// each change at each watcher. The number of a patch is the value that it writes.
func events(client *http.Client, j job) result {
	var sent sync.Map
	var last int64 = -1
	latencies := make([][]float64, j.Watchers)
	var watching, group sync.WaitGroup
	for w := range latencies {
		watching.Add(1)
		group.Add(1)
		go func(w int) {
			defer group.Done()
			lines := watch(client, j, "")
			watching.Done()
			resumeAt := ""
			for {
				line, err := lines.ReadBytes('\n')
				if isClosed(err) {
					lines = watch(client, j, resumeAt)
					continue
				}
				if err != nil {
					fail(err)
				}
				if at := version.FindSubmatch(line); at != nil {
					resumeAt = string(at[1])
				}
				found := marker.FindSubmatch(line)
				if found == nil {
					continue
				}
				number, _ := strconv.ParseInt(string(found[1]), 10, 64)
				at, known := sent.Load(number)
				if !known {
					continue
				}
				latencies[w] = append(latencies[w], milliseconds(at.(time.Time)))
				if number == atomic.LoadInt64(&last) {
					return
				}
			}
		}(w)
	}
	watching.Wait()
	started := time.Now()
	until := started.Add(time.Duration(j.Seconds * float64(time.Second)))
	number := j.First
	for time.Now().Before(until) {
		number++
		sent.Store(number, time.Now())
		do(client, j, number)
	}
	number++
	atomic.StoreInt64(&last, number)
	sent.Store(number, time.Now())
	for !do(client, j, number) {
		// The watchers wait for this one.
	}
	group.Wait()
	r := result{Seconds: time.Since(started).Seconds()}
	for _, each := range latencies {
		r.Latencies = append(r.Latencies, each...)
	}
	r.Count = len(r.Latencies)
	r.Closed = closed
	return r
}

// watch starts a watch, and returns its lines.
func watch(client *http.Client, j job, resumeAt string) *bufio.Reader {
	path := j.WatchPath
	if resumeAt != "" {
		path += "&resourceVersion=" + resumeAt
	}
	for {
		response, err := client.Do(request(j, "GET", path, ""))
		if isClosed(err) {
			continue
		}
		if err != nil || response.StatusCode != 200 {
			fail(fmt.Errorf("watch: %v %v", response, err))
		}
		return bufio.NewReaderSize(response.Body, 1<<16)
	}
}

// isClosed tells whether the server closed the connection, and counts it.
func isClosed(err error) bool {
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if !ended && !errors.Is(err, syscall.ECONNRESET) {
		return false
	}
	if atomic.AddInt64(&closed, 1) > mostClosed {
		fail(fmt.Errorf("the server closed %d connections: %w", mostClosed, err))
	}
	return true
}

// do makes a request, which must succeed; false where the connection was closed.
func do(client *http.Client, j job, number int64) bool {
	n := []byte(strconv.FormatInt(number, 10))
	o := []byte(strconv.FormatInt(number%int64(j.Objects), 10))
	fill := func(text string) string {
		filled := bytes.ReplaceAll([]byte(text), []byte("@N@"), n)
		return string(bytes.ReplaceAll(filled, []byte("@O@"), o))
	}
	response, err := client.Do(request(j, j.Method, fill(j.Path), fill(j.Body)))
	if isClosed(err) {
		return false
	}
	if err != nil {
		fail(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if isClosed(err) {
		return false
	}
	if err != nil {
		fail(err)
	}
	if response.StatusCode >= 300 {
		fail(fmt.Errorf("%s %s: %d %s", j.Method, fill(j.Path), response.StatusCode, body))
	}
	return true
}

func request(j job, method, path, body string) *http.Request {
	r, err := http.NewRequest(method, j.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		fail(err)
	}
	r.Header.Set("Accept", "application/json")
	if body != "" {
		r.Header.Set("Content-Type", j.MediaType)
	}
	if j.Token != "" {
		r.Header.Set("Authorization", "Bearer "+j.Token)
	}
	return r
}

func milliseconds(since time.Time) float64 {
	return float64(time.Since(since).Microseconds()) / 1000
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
