package httploop

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"dyno/parts/httploop/wire"
)

const supported = true

const (
	maxEvents = 512 // per call of epoll_wait
	tickEvery = 100 * time.Millisecond
	tickParts = 10 // each tick checks the deadlines of a tenth of the connections, so each is checked every second
)

// Sources of events other than connections, whose index is 0 or above.
const (
	ofListener = -1 - iota
	ofWake
)

// loop serves its connections. One goroutine, in run, owns all fields except those below mu.
type loop struct {
	server *Server
	number int
	epoll  int // file descriptors
	wakeFD int
	events []unix.EpollEvent
	got    int                // events of the last poll
	poll   func(uintptr) bool // polls, and reports whether there are events
	ready  *os.File           // epoll, for which the runtime's poller waits
	raw    syscall.RawConn    // of ready
	accept *acceptor          // nil: another loop accepts

	now    time.Time // time of this turn
	date   []byte    // header line
	ticked time.Time
	spared time.Time // tick in which no client was slow
	part   int       // of the connections; checked by the next tick

	conns       []*conn // by index; nil means free
	generations []int32 // per index: how often it was used
	free        []int32 // free indexes
	open        int     // number of connections
	buffers     [][]byte
	spare       []*Request // for reuse

	batch []*Request // read, but not yet passed to the service
	dirty []*conn    // with responses to send or bytes to parse
	more  []*conn    // those of the next turn
	out   []byte     // output buffer, reused for each connection

	received, sealed []byte // records of TLS, reused for each connection

	draining bool // connections without a request are ending
	last     bool // no more connections arrive, except those whose handshake is in progress
	cut      bool // connections that still arrive are closed

	asleep atomic.Bool // in epoll_wait, or about to be: a goroutine that completes a request wakes it

	mu        sync.Mutex
	completed []*Request
	posted    []func()
	ended     bool       // nothing posted is called any more
	closed    bool       // epoll and wakeFD are closed
	taken     []*Request // used by run only: completed and taken are swapped
}

// Limits of the memory that a loop keeps for reuse.
const (
	maxBuffers = 1024 // buffers of MaxHead bytes: 16 MiB by default
	maxSpare   = 4096 // requests of about 2 KB
	maxOut     = 64 << 10
)

// open creates the loops. All share the listener's socket through the first loop.
func (s *Server) open(l net.Listener) (loops []*loop, err error) {
	defer func() {
		if err != nil {
			for _, l := range loops {
				l.close()
			}
			loops = nil
		}
	}()
	for i := range s.options.Loops {
		one, err := newLoop(s, i)
		if err != nil {
			return loops, fmt.Errorf("opening an event loop: %w", err)
		}
		loops = append(loops, one)
	}
	loops[0].accept, err = newAcceptor(l, loops)
	if err == nil {
		err = loops[0].accept.watch()
	}
	return loops, err
}

func newLoop(s *Server, number int) (*loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		unix.Close(epoll)
		return nil, err
	}
	l := &loop{server: s, number: number, epoll: epoll, wakeFD: wake, events: make([]unix.EpollEvent, maxEvents)}
	l.poll = func(uintptr) bool {
		l.got = poll(l.epoll, l.events)
		return l.got > 0
	}
	l.look(time.Now())
	if err = unix.SetNonblock(epoll, true); err == nil { // else NewFile would not have the poller watch it
		l.ready = os.NewFile(uintptr(epoll), "epoll")
		l.raw, err = l.ready.SyscallConn()
	}
	if err == nil {
		err = l.ticks(l.now)
	}
	if err == nil {
		err = l.watch(wake, ofWake, 0, unix.EPOLLIN|unix.EPOLLET)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// ticks notes the time of a tick, and makes wait return when the next is due.
func (l *loop) ticks(now time.Time) error {
	l.ticked = now
	return l.ready.SetReadDeadline(now.Add(tickEvery))
}

// watch registers a socket; its events carry (of, generation).
func (l *loop) watch(fd int, of, generation int32, events uint32) error {
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: of, Pad: generation})
}

func (l *loop) close() {
	if l.accept != nil {
		l.accept.close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.closed = true, true
	unix.Close(l.wakeFD)
	if l.ready == nil {
		unix.Close(l.epoll)
		return
	}
	l.ready.Close()
}

// run takes turns until it was stopped and all connections are closed.
func (l *loop) run() error {
	defer l.close()
	for {
		n, err := l.wait()
		if err != nil {
			return fmt.Errorf("waiting for sockets: %w", err)
		}
		l.look(time.Now())
		for i := range l.events[:n] {
			l.happened(&l.events[i])
		}
		l.collect()
		l.turn()
		l.collect() // requests that the service completed without waiting
		l.flush()
		if l.now.Sub(l.ticked) >= tickEvery {
			if err := l.ticks(l.now); err != nil {
				return fmt.Errorf("setting the time of the next tick: %w", err)
			}
			l.tick()
		}
		if l.last && l.open == 0 && l.endIfNone() {
			return nil
		}
	}
}

// look updates the loop's time, once per turn.
func (l *loop) look(now time.Time) {
	if l.now.Unix() != now.Unix() || l.date == nil {
		l.date = wire.DateLine(now)
	}
	l.now = now
}

// wait returns the number of events. First it lets goroutines with work from the last turn run. It
// does not block in epoll_wait, which would keep one of the GOMAXPROCS from other goroutines until
// the runtime takes it away, up to 10 ms later.
func (l *loop) wait() (n int, err error) {
	runtime.Gosched()
	if l.poll(0) || len(l.batch) > 0 || len(l.dirty) > 0 {
		return l.got, nil
	}
	l.asleep.Store(true)
	defer l.asleep.Store(false)
	l.mu.Lock()
	work := len(l.completed) > 0 || len(l.posted) > 0
	l.mu.Unlock()
	if work {
		return 0, nil
	}
	if err = l.raw.Read(l.poll); errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, nil
	}
	return l.got, err
}

// wake ends the loop's wait, if it is waiting.
func (l *loop) wake() {
	if !l.asleep.CompareAndSwap(true, false) {
		return
	}
	l.mu.Lock() // the loop may have ended, and its descriptor belong to another file
	defer l.mu.Unlock()
	if !l.closed {
		signal(l.wakeFD)
	}
}

// post makes the loop call f, and reports whether it will: not after its end.
func (l *loop) post(f func()) bool {
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return false
	}
	l.posted = append(l.posted, f)
	l.mu.Unlock()
	l.wake()
	return true
}

func (l *loop) complete(requests []*Request) {
	l.mu.Lock()
	l.completed = append(l.completed, requests...)
	l.mu.Unlock()
	l.wake()
}

func (l *loop) collect() {
	l.mu.Lock()
	l.taken, l.completed = l.completed, l.taken[:0]
	posted := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, r := range l.taken {
		r.answered = true
		l.touch(r.conn)
	}
	clear(l.taken)
	for _, f := range posted {
		f()
	}
}

// endIfNone reports whether no connection is on its way to this loop, and lets none come then. A
// handshake posts its connection before it ends, so handshakes are checked first.
func (l *loop) endIfNone() bool {
	if l.server.shakes.open() > 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = len(l.posted) == 0
	return l.ended
}

func (l *loop) touch(c *conn) {
	if !c.dirty {
		c.dirty = true
		l.dirty = append(l.dirty, c)
	}
}

// later continues with a connection in the next turn.
func (l *loop) later(c *conn) {
	if !c.dirty {
		c.dirty = true
		l.more = append(l.more, c)
	}
}

// turn passes the requests that were read to the service.
func (l *loop) turn() {
	if len(l.batch) == 0 {
		return
	}
	l.server.counts.requests.Add(uint64(len(l.batch)))
	l.server.counts.turns.Add(1)
	l.server.options.Turn(l.number, l.batch)
	clear(l.batch)
	l.batch = l.batch[:0]
}

// flush sends responses. It parses more of connections that can continue, for the next turn.
func (l *loop) flush() {
	for i := 0; i < len(l.dirty); i++ {
		c := l.dirty[i]
		c.dirty = false
		c.proceed()
	}
	clear(l.dirty)
	l.dirty, l.more = l.more, l.dirty[:0]
	if cap(l.out) > 4*maxOut {
		l.out = nil
	}
	if cap(l.sealed) > 4*maxOut {
		l.sealed = nil
	}
}

func (l *loop) happened(e *unix.EpollEvent) {
	switch e.Fd {
	case ofWake: // posted functions are handled in each turn
	case ofListener:
		if l.accept != nil {
			l.accept.some(acceptsPerTurn)
		}
	default:
		if c := l.conns[e.Fd]; c != nil && c.generation == e.Pad {
			c.happened(e.Events)
		}
	}
}

// tick checks a part of the deadlines.
func (l *loop) tick() {
	step := tickParts
	if l.draining {
		step = 1 // all connections in each tick
	}
	for i := l.part % step; i < len(l.conns); i += step {
		if c := l.conns[i]; c != nil && !c.deadline.IsZero() && l.now.After(c.deadline) {
			c.expire()
		}
	}
	l.part = (l.part + 1) % tickParts
	switch {
	case l.accept == nil:
	case l.draining:
		l.acceptLast()
	default:
		l.accept.again()
	}
	if l.server.options.Tick != nil {
		l.server.options.Tick(l.number)
	}
}
