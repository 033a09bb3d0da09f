// Package lameducktest stops a program under load and checks that it leaves no request without a
// response. It speaks HTTP/1.1 over its own connections, so that no client library hides a request
// that it sends again.
//
// It is for tests only.
package lameducktest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/lameduck"
)

const (
	busy   = 40  // connections that send a request as soon as they have a response
	silent = 5   // connections that send their first request when the program is no longer ready
	warm   = 400 // responses before the program is stopped

	patience = 60 * time.Second // limit of every wait; reached only when a test fails
)

// Program is the program to stop.
type Program struct {
	Dial    func() (net.Conn, error)
	Request func(connection, n int) string // bytes of a connection's nth request
	Good    func(*http.Response) bool      // whether a response is a correct one to Request
	Ready   func() (status int)            // status of /readyz, 0 if it does not answer; nil means that there is no /readyz

	// Window is how long the program must keep accepting after it is stopped. With Ready it must be
	// more than 0.
	Window time.Duration

	// Stop stops the program and returns when it has exited.
	Stop func()
}

// Readyz returns the status of a debug address, such as http://127.0.0.1:8081.
func Readyz(debug string) func() (status int) {
	return func() int {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
		resp, err := client.Get(debug + "/readyz")
		if err != nil {
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
}

// Run stops a program while it serves requests.
func Run(t testing.TB, p Program) {
	t.Helper()
	r := &run{Program: p, t: t, warm: make(chan struct{}), unready: make(chan struct{})}
	var clients, others sync.WaitGroup
	for i := range busy {
		clients.Go(func() { r.busy(i) })
	}
	for i := range silent {
		conn, err := p.Dial()
		if err != nil {
			t.Error(err)
			continue
		}
		clients.Go(func() { r.silent(busy+i, conn) })
	}
	select {
	case <-r.warm:
	case <-time.After(patience):
		t.Errorf("%d answers in %v", r.answers.Load(), patience)
	}
	if p.Ready != nil {
		if status := p.Ready(); status != http.StatusOK {
			t.Errorf("/readyz says %d before the end", status)
		}
	}
	now := time.Now()
	r.stopped.Store(&now)
	others.Go(p.Stop)
	r.waitUnready()
	clients.Go(func() { r.busy(busy + silent) }) // its first connection is a new one
	clients.Wait()
	others.Wait()
	if n := r.answers.Load(); r.unanswered.Load() > 0 || r.bad.Load() > 0 {
		t.Errorf("%d requests were not answered and %d wrongly, beside %d answers", r.unanswered.Load(), r.bad.Load(), n)
	}
	if p.Window > 0 && r.after.Load() == 0 {
		t.Logf("no connection was tried within %v of the stop: the machine was too busy", p.Window)
	}
}

type run struct {
	Program
	t       testing.TB
	warm    chan struct{} // closed after the first responses
	unready chan struct{} // closed when the program is no longer ready
	stopped atomic.Pointer[time.Time]

	answers, unanswered, bad, after atomic.Int64
}

// waitUnready looks at /readyz until it says 503, as it must for as long as the window: a look that
// finds the program gone after a longer pause may have missed it.
func (r *run) waitUnready() {
	defer close(r.unready)
	if r.Ready == nil {
		return
	}
	began := time.Now()
	for last := began; ; {
		looks := time.Now()
		status := r.Ready()
		switch paused := time.Since(last); {
		case status == http.StatusServiceUnavailable:
			return
		case status == 0 && paused >= r.Window:
			r.t.Logf("/readyz was not asked for %v: the machine was too busy", paused)
			return
		case status == 0, time.Since(began) > patience:
			r.t.Errorf("/readyz said %d and never 503", status)
			return
		}
		last = looks
	}
}

// busy sends requests until no connection is accepted. It opens a new connection when a response
// closes the old one.
func (r *run) busy(id int) {
	for n := 0; ; {
		late := r.stopped.Load() != nil
		began := time.Now()
		conn, err := r.Dial()
		if err != nil {
			stop := r.stopped.Load()
			if stop == nil || time.Since(*stop) < r.Window {
				r.t.Errorf("a connection was refused too early: %v", err)
			}
			return
		}
		ok := r.serve(conn, began, id, &n)
		conn.Close()
		if !ok {
			return
		}
		if late {
			r.after.Add(1)
		}
	}
}

// serve sends requests until a response announces that the connection closes. A program that ends
// may close a connection that was silent for a lull: a client that sends then must send again. That
// happens here only if this process had no CPU meanwhile, and is not counted; free is when the
// connection was begun.
func (r *run) serve(conn net.Conn, free time.Time, id int, n *int) bool {
	in := bufio.NewReader(conn)
	for {
		sent, resp, err := r.ask(conn, in, r.Request(id, *n))
		*n++
		if silent := sent.Sub(free); err != nil && r.stopped.Load() != nil && silent >= lameduck.Lull/2 {
			r.t.Logf("a connection was silent for %v (%v): the machine was too busy", silent, err)
			return true
		}
		if err != nil {
			r.lost(err)
			return false
		}
		free = time.Now()
		if r.answers.Add(1) == warm {
			close(r.warm)
		}
		if !r.Good(resp) && r.bad.Add(1) == 1 {
			r.t.Errorf("an answer is %s", resp.Status)
		}
		if resp.Close {
			if r.stopped.Load() == nil {
				r.t.Error("a connection is closed although the program was not stopped")
				return false
			}
			return r.ended(conn, in)
		}
	}
}

// ask sends a request, and returns when that was done and the response.
func (r *run) ask(conn net.Conn, in *bufio.Reader, request string) (sent time.Time, resp *http.Response, err error) {
	conn.SetDeadline(time.Now().Add(patience))
	_, err = io.WriteString(conn, request)
	sent = time.Now()
	if err == nil {
		resp, err = http.ReadResponse(in, nil)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return sent, resp, err
}

// ended checks that a connection closes cleanly after Connection: close.
func (r *run) ended(conn net.Conn, in *bufio.Reader) bool {
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		r.t.Errorf("after an answer with Connection: close: %v, want EOF", err)
		return false
	}
	return true
}

// silent sends its first request when the program is no longer ready. The program may have closed
// the idle connection by then, but not before the window is over.
func (r *run) silent(id int, conn net.Conn) {
	defer conn.Close()
	<-r.unready
	if r.Window == 0 || r.Ready == nil {
		return
	}
	_, resp, err := r.ask(conn, bufio.NewReader(conn), r.Request(id, 0))
	switch {
	case err != nil && time.Since(*r.stopped.Load()) < r.Window:
		r.lost(fmt.Errorf("on a connection that was silent before: %w", err))
	case err == nil && !resp.Close:
		r.t.Error("an answer of a program that ends does not say Connection: close")
	}
}

func (r *run) lost(err error) {
	if r.unanswered.Add(1) == 1 {
		r.t.Errorf("a request was not answered: %v", err)
	}
}
