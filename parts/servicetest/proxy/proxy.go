// Package proxy stands between a program under test and a server, and breaks their connections as a
// test asks: it ends them, refuses them, slows them, holds their bytes back, or lets them fall
// silent. It carries any protocol over TCP, and it is not for load.
//
// A proxy owns its goroutines: one that accepts, and two a connection. They have ended when the
// test has.
package proxy

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"dyno/parts/relay"
)

// Proxy carries bytes both ways between clients and one server on loopback.
type Proxy struct {
	listener net.Listener

	mu       sync.Mutex // guards the fields below
	changed  sync.Cond  // state has changed
	state    state
	links    map[*link]struct{}
	slow     bool    // few bytes pass at a time, and a pause follows them
	lives    []int64 // bytes from the server after which each next connection falls silent
	silenced int
}

type state int

const (
	passing state = iota
	refusing
	holding
)

// link is one connection from end to end.
type link struct {
	client, server net.Conn
	silent         bool // guarded by the proxy's mutex
}

// New starts a proxy before the server at HOST:PORT, which ends with the test.
func New(t testing.TB, server string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, links: map[*link]struct{}{}}
	p.changed.L = &p.mu
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { relay.Serve(ctx, l, relay.Options{To: server}, p.carry) })
	t.Cleanup(func() {
		cancel()
		p.Refuse()
		serving.Wait()
	})
	return p
}

// Addr is the address that leads through the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Pass carries bytes again, after Refuse, Hold or Slow.
func (p *Proxy) Pass() { p.set(passing) }

// Slow carries few bytes a second over each connection until Pass, so that what is written waits in
// the writer once the system's buffers are full.
func (p *Proxy) Slow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.slow = passing, true
	p.changed.Broadcast()
}

// What a slow connection carries: 64 KiB/s.
const (
	slowBytes = 1 << 10
	slowPause = time.Second / 64
)

// Hold keeps connections open and takes new ones, and passes nothing on until Pass.
func (p *Proxy) Hold() { p.set(holding) }

// Refuse ends all connections, and each new one immediately until Pass.
func (p *Proxy) Refuse() {
	p.set(refusing)
	p.Cut()
}

// Cut ends the connections there are. New ones are carried.
func (p *Proxy) Cut() { p.each((*link).close) }

// Silence drops from now on what comes over the connections there are, and leaves them open. New
// ones are carried.
func (p *Proxy) Silence() { p.each(func(k *link) { k.silent = true }) }

// SilenceAfter silences each of the next connections after a number of bytes from the server.
func (p *Proxy) SilenceAfter(bytes ...int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lives = append(p.lives, bytes...)
}

// Silenced is the number of connections that fell silent by SilenceAfter and have ended since.
func (p *Proxy) Silenced() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silenced
}

func (p *Proxy) set(s state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.slow = s, false
	p.changed.Broadcast()
}

func (p *Proxy) each(do func(*link)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.links {
		do(k)
	}
}

// carry passes bytes on in both directions until an end hangs up.
func (p *Proxy) carry(_ context.Context, _ uint64, client, server net.Conn) {
	k := &link{client: client, server: server}
	life, ok := p.add(k)
	if !ok {
		return
	}
	var up sync.WaitGroup
	up.Go(func() { p.copy(k, server, client, -1) })
	spent := p.copy(k, client, server, life)
	up.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, k)
	if spent {
		p.silenced++
	}
}

// add registers a connection, and returns the bytes after which it falls silent; negative: never.
func (p *Proxy) add(k *link) (life int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == refusing {
		return 0, false
	}
	life = -1
	if len(p.lives) > 0 {
		life, p.lives = p.lives[0], p.lives[1:]
	}
	p.links[k] = struct{}{}
	return life, true
}

// copy passes on what comes until an end hangs up, and reports whether the connection lived longer
// than its life. One that is silent is still read, so that its end is noticed.
func (p *Proxy) copy(k *link, to io.Writer, from io.Reader, life int64) (spent bool) {
	defer k.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer[:p.room(len(buffer))])
		if life >= 0 && !spent {
			life -= int64(n)
			spent = life <= 0
		}
		if p.may(k, spent) {
			if _, err := to.Write(buffer[:n]); err != nil {
				return spent
			}
		}
		if err != nil {
			return spent
		}
	}
}

// room returns the most bytes of the next read, after the pause of a slow proxy.
func (p *Proxy) room(most int) int {
	p.mu.Lock()
	slow := p.slow
	p.mu.Unlock()
	if !slow {
		return most
	}
	time.Sleep(slowPause)
	return slowBytes
}

// may waits while the proxy holds bytes back, and reports whether a connection carries any.
func (p *Proxy) may(k *link, spent bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	k.silent = k.silent || spent
	for p.state == holding {
		p.changed.Wait()
	}
	return !k.silent
}

func (k *link) close() {
	k.client.Close()
	k.server.Close()
}
