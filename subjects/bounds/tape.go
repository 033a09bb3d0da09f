package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"sync"

	"dyno/subjects/bounds/suite"
)

var tickerTape = suite.Entry{
	Name: "client-slow", Family: "generator", Truth: "generator",
	InWords: "each answer is thousands of small chunks that were encoded beforehand: to write it takes one call, to read it takes long",
	Method:  "GET", Path: "/tape", Invisible: nil,
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		prices := d.Between("chunks", 4_000, 10_000)
		return func() (*suite.Service, error) {
			f := newFeed(prices)
			return suite.ServingUntil("GET /tape", f.stream, f.close), nil
		}
	},
}

// feed sends the day's prices, each in a separate chunk, in order of arrival.
type feed struct {
	answer []byte // head and body

	mu      sync.Mutex
	closed  bool
	readers map[net.Conn]bool
	reading sync.WaitGroup
}

func newFeed(prices int) *feed {
	f := &feed{answer: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"), readers: map[net.Conn]bool{}}
	for i := range prices {
		price := fmt.Sprintf("%d\n", i%10)
		f.answer = fmt.Appendf(f.answer, "%x\r\n%s\r\n", len(price), price)
	}
	f.answer = append(f.answer, "0\r\n\r\n"...)
	return f
}

// stream takes over the connection and answers this request and all later ones on it.
func (f *feed) stream(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if !f.add(conn) {
		return
	}
	defer f.remove(conn)
	for {
		if _, err := conn.Write(f.answer); err != nil {
			return
		}
		if err := skipRequest(rw.Reader); err != nil {
			return
		}
	}
}

// skipRequest reads a request that has no body.
func skipRequest(in *bufio.Reader) error {
	r, err := http.ReadRequest(in)
	if err != nil {
		return err
	}
	return r.Body.Close()
}

func (f *feed) add(conn net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		conn.Close()
		return false
	}
	f.readers[conn] = true
	f.reading.Add(1)
	return true
}

func (f *feed) remove(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	conn.Close()
	delete(f.readers, conn)
	f.reading.Done()
}

// close ends the hijacked connections, which the server does not close.
func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	for conn := range f.readers {
		conn.Close()
	}
	f.mu.Unlock()
	f.reading.Wait()
}
