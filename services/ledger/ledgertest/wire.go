package ledgertest

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// Wire is the network before a server: it passes bytes on, whatever they mean, until a connection
// must die. So it serves HTTP and WebSocket alike.
type Wire struct {
	URL, WS string // of the server, through the wire

	listener net.Listener
	behind   string // HOST:PORT
	work     sync.WaitGroup

	mu     sync.Mutex
	lives  []int64 // bytes from the server until each next connection falls silent; then all
	links  map[*link]struct{}
	closed bool
	silent int
}

// NewWire makes a wire, which ends with the test. Its first connections fall silent after a number
// of bytes from the server, each after its entry of lives: neither side hears from the other any
// more, and both stay connected.
func NewWire(t testing.TB, behind string, lives ...int64) *Wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, behind, _ = strings.Cut(behind, "://")
	w := &Wire{URL: "http://" + l.Addr().String(), WS: "ws://" + l.Addr().String(), listener: l, behind: behind, lives: lives, links: map[*link]struct{}{}}
	w.work.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

func (w *Wire) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.listener.Close()
	w.Cut()
	w.work.Wait()
}

func (w *Wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return // it is closed
		}
		w.work.Go(func() { w.carry(near) })
	}
}

// link is a connection from end to end.
type link struct {
	near, far net.Conn
	silent    chan struct{} // closed: nothing is passed on any more
	once      sync.Once
}

func (k *link) hush() { k.once.Do(func() { close(k.silent) }) }

func (k *link) cut() {
	k.near.Close()
	k.far.Close()
}

// carry passes bytes on in both directions until an end hangs up.
func (w *Wire) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", w.behind)
	if err != nil {
		return
	}
	defer far.Close()
	k, life := &link{near: near, far: far, silent: make(chan struct{})}, int64(-1)
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	if len(w.lives) > 0 {
		life, w.lives = w.lives[0], w.lives[1:]
	}
	w.links[k] = struct{}{}
	w.mu.Unlock()
	var up sync.WaitGroup
	up.Go(func() {
		defer k.cut()
		k.pass(k.far, k.near, -1)
	})
	if k.pass(k.near, k.far, life) {
		w.mu.Lock()
		w.silent++
		w.mu.Unlock()
	}
	k.cut()
	up.Wait()
	w.mu.Lock()
	delete(w.links, k)
	w.mu.Unlock()
}

// pass copies what comes, at most most bytes unless that is negative. Then, or when it is silenced,
// it says nothing any more, and goes on listening so that it notices the end. It says whether it
// fell silent on its own.
func (k *link) pass(to io.Writer, from io.Reader, most int64) (spent bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if most >= 0 && !spent {
			if most -= int64(n); most <= 0 {
				spent = true
				k.hush()
			}
		}
		select {
		case <-k.silent:
		default:
			if _, err := to.Write(buffer[:n]); err != nil {
				return spent
			}
		}
		if err != nil {
			return spent
		}
	}
}

// Cut hangs up on all who are connected.
func (w *Wire) Cut() { w.each((*link).cut) }

// Silence lets all who are connected hear nothing from each other any more, without hanging up.
func (w *Wire) Silence() { w.each((*link).hush) }

func (w *Wire) each(do func(*link)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := range w.links {
		do(k)
	}
}

// Silent is how many connections have fallen silent at the end of their lives, and been given up
// since.
func (w *Wire) Silent() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.silent
}
