// Command load makes requests to an API server for some seconds and times them.
//
// It reads a job as JSON from standard input and prints the result as JSON: the number
// of requests (or of events), the seconds, and the latencies in milliseconds. "@N@" in
// a path or a body is replaced by the number of the request.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
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
	// Objects is how many different paths there are: @O@ is the number modulo this.
	Objects int
	// First is the number of the first request.
	First int64
}

type result struct {
	Count     int
	Seconds   float64
	Latencies []float64
}

var marker = regexp.MustCompile(`"replicas":(\d+)`)

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
				sent := time.Now()
				do(client, j, atomic.AddInt64(&next, 1))
				latencies[c] = append(latencies[c], milliseconds(sent))
			}
		}(c)
	}
	group.Wait()
	r := result{Seconds: time.Since(started).Seconds()}
	for _, each := range latencies {
		r.Latencies = append(r.Latencies, each...)
	}
	r.Count = len(r.Latencies)
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
			response, err := client.Do(request(j, "GET", j.WatchPath, ""))
			if err != nil || response.StatusCode != 200 {
				fail(fmt.Errorf("watch: %v %v", response, err))
			}
			watching.Done()
			reader := bufio.NewReaderSize(response.Body, 1<<16)
			for {
				line, err := reader.ReadBytes('\n')
				if err != nil {
					fail(err)
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
	do(client, j, number)
	group.Wait()
	r := result{Seconds: time.Since(started).Seconds()}
	for _, each := range latencies {
		r.Latencies = append(r.Latencies, each...)
	}
	r.Count = len(r.Latencies)
	return r
}

func do(client *http.Client, j job, number int64) {
	n := []byte(strconv.FormatInt(number, 10))
	o := []byte(strconv.FormatInt(number%int64(j.Objects), 10))
	fill := func(text string) string {
		filled := bytes.ReplaceAll([]byte(text), []byte("@N@"), n)
		return string(bytes.ReplaceAll(filled, []byte("@O@"), o))
	}
	response, err := client.Do(request(j, j.Method, fill(j.Path), fill(j.Body)))
	if err != nil {
		fail(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		fail(err)
	}
	if response.StatusCode >= 300 {
		fail(fmt.Errorf("%s %s: %d %s", j.Method, fill(j.Path), response.StatusCode, body))
	}
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
