package arena

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"dyno/services/arena/auth"
	"dyno/services/arena/room"
	"dyno/services/arena/socket"
	"dyno/services/arena/wire"
)

const (
	joinTime   = 10 * time.Second // for the first message to come
	beat       = 15 * time.Second // between pings
	silence    = 4 * beat         // that a client may keep; it is gone at the latest a beat later
	perSecond  = 120              // messages of a client, and as many together
	eventsEach = time.Second / 5  // between events of a client, beside 5 together
	maxBurst   = 5
	sendBuffer = 32 << 10 // bytes of the kernel: more would hold seconds of old states
)

// sessions is the connections.
type sessions struct {
	*lobby
	keys   *auth.Keys // nil: no token is asked
	key    *auth.Key  // in force at the last look
	accept socket.Accept
	owner  func(room string) (url string) // of a room at another node; "": at none
	say    func(name, text string) bool   // to all players of all nodes; false: not now

	tasks    sync.WaitGroup
	mu       sync.Mutex
	admitted int
	open     map[*session]bool // those that have a client
	ended    bool
}

// session is a connection, read by its own goroutine.
type session struct {
	sessions *sessions
	socket   socket.Socket
	client   *room.Client
	room     *room.Room       // nil: it has not joined
	in       wire.ClientFrame // used again for each message
	began    time.Time        // of the second in which credit is counted
	deadline time.Time
	credit   int
	events   int
	said     time.Time

	access atomic.Pointer[room.Access] // nil: it has not joined, or needs none
	ended  sync.Once
}

// ServeHTTP opens a WebSocket.
func (all *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := &session{sessions: all, credit: 2 * perSecond, events: maxBurst}
	if !all.admit() {
		w.Header().Set("Retry-After", "5")
		answer(w, http.StatusServiceUnavailable, problem{fmt.Sprintf("%d connections are open already, or the server stops; try again, or at another server", all.config.MaxConnections)})
		return
	}
	var err error
	s.socket, err = all.accept(w, r, socket.Options{
		Subprotocols: []string{wire.Bits, wire.Proto}, SendBuffer: sendBuffer,
		Control: s.control,
	})
	if err != nil {
		all.leave(s)
		return
	}
	s.client = room.NewClient(s.socket, all.config.Config, all.stats)
	all.enlist(s)
	// The goroutine of net/http ends here, with its buffers.
	go s.run()
}

func (all *sessions) admit() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.ended || all.admitted >= all.config.MaxConnections {
		return false
	}
	all.admitted++
	all.tasks.Add(1)
	return true
}

func (all *sessions) enlist(s *session) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open[s] = true; all.ended {
		s.socket.SetReadDeadline(time.Now())
	}
}

func (all *sessions) leave(s *session) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, s)
	all.admitted--
	all.tasks.Done()
}

func (all *sessions) count() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.open)
}

// queued is the bytes that wait for clients.
func (all *sessions) queued() (n int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for s := range all.open {
		n += s.client.Queued()
	}
	return n
}

// run pings the clients until the server stops, so that those that only watch are known to be
// there, looks whether they may be there still, and then ends all connections.
func (all *sessions) run() {
	beats, looks := time.NewTicker(beat), time.NewTicker(look)
	defer beats.Stop()
	defer looks.Stop()
	for {
		select {
		case <-looks.C:
			all.look()
		case <-beats.C:
			all.each(func(s *session) {
				if ping := s.socket.Ping(); ping != nil {
					s.client.Control(ping)
				}
			})
		case <-all.ending.Done():
			all.mu.Lock()
			all.ended = true
			all.mu.Unlock()
			all.each(func(s *session) { s.socket.SetReadDeadline(time.Now()) })
			all.tasks.Wait()
			return
		}
	}
}

func (all *sessions) each(do func(*session)) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for s := range all.open {
		do(s)
	}
}

// refusal is an error that the client receives before the end.
type refusal struct{ code, text string }

func (e *refusal) Error() string { return e.code + ": " + e.text }

func malformed(text string) error { return &refusal{"malformed", text} }

// end closes the connection, and says why. It waits for a call before it, and does nothing then.
func (s *session) end(err error) { s.ended.Do(func() { s.close(err) }) }

func (s *session) close(err error) {
	var why *refusal
	var closed *socket.Closed
	switch {
	case errors.Is(err, errLeft):
		s.client.End(nil, socket.Normal, "")
	case errors.As(err, &why):
		s.client.End(&wire.ServerFrame{Body: &wire.ServerFrame_Error{Error: &wire.Error{Code: why.code, Message: why.text}}}, socket.Policy, why.code)
	case errors.As(err, &closed):
		s.client.End(nil, closed.Code, closed.Reason)
	case s.sessions.ending.Err() != nil:
		s.client.End(nil, socket.GoingAway, "the server stops")
	default:
		s.client.End(nil, 0, "")
	}
}

// read returns the next frame.
func (s *session) read() (*wire.ClientFrame, error) {
	message, err := s.socket.Read()
	if err != nil {
		return nil, err
	}
	return s.decode(message, time.Now())
}

// decode returns the frame in a message, and counts it.
func (s *session) decode(message []byte, now time.Time) (*wire.ClientFrame, error) {
	if err := s.count(now); err != nil {
		return nil, err
	}
	if err := s.in.UnmarshalVT(message); err != nil {
		s.sessions.stats.Reject(room.ReasonMalformed)
		return nil, malformed("the message is no ClientFrame")
	}
	return &s.in, nil
}

// count counts a message, a ping or a pong. The credit grows with the seconds since the last one
// came, as after a stall of the network what was sent meanwhile comes together.
func (s *session) count(now time.Time) error {
	if s.room != nil && s.deadline.Sub(now) < silence { // not each time: it takes a timer
		s.patience(now, silence+beat)
	}
	if n := int(now.Sub(s.began) / time.Second); n > 0 {
		s.began, s.credit = now, min(s.credit+n*perSecond, (n+1)*perSecond)
	}
	if s.credit--; s.credit < 0 {
		s.sessions.stats.Reject(room.ReasonFlood)
		return &refusal{"flood", fmt.Sprintf("more than %d messages a second", perSecond)}
	}
	return nil
}

// control answers a ping; a pong only shows that the client is there.
func (s *session) control(pong []byte) error {
	err := s.count(time.Now())
	if err == nil && pong != nil {
		s.client.Control(pong)
	}
	return err
}

// patience is how long the next message may take to come.
func (s *session) patience(now time.Time, d time.Duration) {
	s.deadline = now.Add(d)
	s.socket.SetReadDeadline(s.deadline)
	if s.sessions.ending.Err() != nil { // the end must not be put off
		s.socket.SetReadDeadline(time.Now())
	}
}

// run joins a room and reads what the client sends until it ends, or until the room reads it.
func (s *session) run() {
	s.began = time.Now()
	s.patience(s.began, joinTime)
	f, err := s.read()
	if err == nil {
		s.room, err = s.join(f.GetJoin())
	}
	if err != nil {
		s.End(err)
		return
	}
	s.watch()
	s.in.ResetVT()
	s.patience(time.Now(), silence+beat)
	if s.sessions.config.Read == "tick" && s.socket.Poll(nil, nil) == nil && s.room.Adopt(s.client, s) {
		return
	}
	for err == nil {
		if f, err = s.read(); err == nil {
			err = s.do(f)
			s.in.ResetVT()
		}
	}
	s.End(err)
}

// Poll and End let the room read the session (room.Reader).
func (s *session) Poll(buf []byte) error {
	return s.socket.Poll(buf, func(message []byte) error {
		f, err := s.decode(message, time.Now())
		if err == nil {
			err = s.do(f)
			s.in.ResetVT()
		}
		return err
	})
}

// End takes the session out of its room and closes the connection.
func (s *session) End(err error) {
	defer s.sessions.leave(s)
	if s.room != nil {
		s.room.Leave(s.client, errors.Is(err, errLeft))
		s.sessions.changed()
	}
	s.end(err)
}

// errLeft is of a player that leaves for good.
var errLeft = errors.New("the player has left")

// do does what a frame says.
func (s *session) do(f *wire.ClientFrame) error {
	switch body := f.Body.(type) {
	case *wire.ClientFrame_Input:
		s.room.Input(s.client, body.Input)
	case *wire.ClientFrame_Ping:
		s.room.Heard(s.client)
		s.client.Send(&wire.ServerFrame{Body: &wire.ServerFrame_Pong{Pong: &wire.Pong{
			ClientMs: body.Ping.GetClientMs(), ServerMs: uint64(time.Now().UnixMilli()), Tick: s.room.Tick(),
		}}})
	case *wire.ClientFrame_Event:
		s.room.Heard(s.client)
		s.say(body.Event)
	case *wire.ClientFrame_Leave:
		return errLeft
	default:
		s.sessions.stats.Reject(room.ReasonMalformed)
		return malformed("a message after the Join is an Input, Ping, GameEvent or Leave")
	}
	return nil
}

// say passes an event on, of which a client may send a few a second.
func (s *session) say(e *wire.GameEvent) {
	if now := time.Now(); now.Sub(s.said) >= eventsEach {
		s.events = min(maxBurst, s.events+int(now.Sub(s.said)/eventsEach))
		s.said = now
	}
	if e == nil || s.events == 0 {
		s.sessions.stats.Reject(room.ReasonEvent)
		return
	}
	s.events--
	if e.ActionType != wire.ActionLobby {
		s.room.Say(s.client, e)
	} else if text := string(e.Payload); len(text) > wire.MaxChat || !utf8.ValidString(text) || !s.sessions.say(s.client.Name(), text) {
		s.sessions.stats.Reject(room.ReasonEvent)
	}
}
