package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"time"

	"dyno/parts/httploop/headersets"
)

// listener receives requests and keeps their header lines as they came. close ends its goroutines
// and waits.
type listener struct {
	net.Listener
	serving sync.WaitGroup

	mu       sync.Mutex
	open     map[net.Conn]bool // false after close
	requests map[string]headersets.Fields
}

func listen() (*listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &listener{Listener: l, open: map[net.Conn]bool{}, requests: map[string]headersets.Fields{}}
	r.serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.open[c] = true
			r.mu.Unlock()
			r.serving.Go(func() { r.serve(c) })
		}
	})
	return r, nil
}

func (l *listener) close() {
	l.Close()
	l.mu.Lock()
	for c := range l.open {
		c.Close()
	}
	l.mu.Unlock()
	l.serving.Wait()
}

// take returns what the first request of each method had, and forgets it.
func (l *listener) take() map[string]headersets.Fields {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.requests
	l.requests = map[string]headersets.Fields{}
	return taken
}

const result = `{"jsonrpc":"2.0","id":1,"result":"0x1"}`

// answer is one that JSON-RPC clients take, too.
var answer = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(result), result)

// maxFields bounds a header, in lines.
const maxFields = 100

func (l *listener) serve(c net.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	in := bufio.NewReader(c)
	for {
		head := textproto.NewReader(in)
		first, err := head.ReadLine()
		if err != nil {
			return
		}
		fields := headersets.Fields{}
		for len(fields) < maxFields {
			line, err := head.ReadLine()
			if err != nil {
				return
			}
			if line == "" {
				break
			}
			fields = append(fields, line)
		}
		method, _, _ := strings.Cut(first, " ")
		r, err := http.ReadRequest(bufio.NewReader(io.MultiReader(strings.NewReader(first+"\r\n"+strings.Join(fields, "\r\n")+"\r\n\r\n"), in)))
		if err != nil {
			return
		}
		if r.Header.Get("Expect") != "" {
			io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
		}
		io.Copy(io.Discard, r.Body)
		l.mu.Lock()
		if l.requests[method] == nil {
			l.requests[method] = clean(fields)
		}
		l.mu.Unlock()
		if _, err := io.WriteString(c, answer); err != nil || r.Close || r.ContentLength < 0 {
			return
		}
	}
}

// clean replaces what belongs to this recording.
func clean(fields headersets.Fields) headersets.Fields {
	for i, line := range fields {
		if strings.EqualFold(headersets.NameOf(line), "Host") {
			fields[i] = headersets.NameOf(line) + ": HOST"
		}
	}
	return fields
}
