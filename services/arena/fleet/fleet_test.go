package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"dyno/parts/freeport"
	"dyno/parts/servicetest"
	"dyno/parts/servicetest/proxy"
	"dyno/services/arena/match"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hall has the rooms of a node.
type hall struct {
	name string

	mu    sync.Mutex
	rooms map[string]*match.Seats
	seats []*match.Seat
}

const capacity = 4

func (h *hall) list() (rooms []Room) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for _, s := range h.seats {
		names = append(names, s.Player.Name)
	}
	for id, s := range h.rooms {
		m := s.Room(id)
		rooms = append(rooms, Room{ID: id, Capacity: capacity, Players: len(names), Hz: 30, Free: m.Free, Rated: m.Rated, Skill: m.Skill, Names: names})
	}
	return rooms
}

func (h *hall) Open() (open []match.Room) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, s := range h.rooms {
		open = append(open, s.Room(id))
	}
	return open
}

func (h *hall) Create(context.Context, int) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := fmt.Sprintf("%s-%d", h.name, len(h.rooms))
	h.rooms[id] = match.NewSeats(capacity, nil)
	return id, nil
}

func (h *hall) Reserve(_ context.Context, room string, p match.Player) (match.Place, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.rooms[room]; s != nil {
		if token, ok := s.Hold(p); ok {
			return match.Place{Room: room, Token: token}, nil
		}
	}
	return match.Place{}, errors.New("no place")
}

// join uses a place.
func (h *hall) join(t *testing.T, p match.Place) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	seat, ok := h.rooms[p.Room].Claim(p.Token)
	if !ok {
		t.Fatalf("the place %+v is not held", p)
	}
	h.seats = append(h.seats, seat)
}

var secret = []byte(strings.Repeat("s", minSecret))

func address(t *testing.T) string {
	t.Helper()
	a, err := freeport.Loopback(1)
	if err != nil {
		t.Fatal(err)
	}
	return a[0].String()
}

// start starts a node with one room.
func start(t *testing.T, name, at string, routes ...string) (*Fleet, *hall) {
	t.Helper()
	h := &hall{name: name, rooms: map[string]*match.Seats{}}
	if _, err := h.Create(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	f, err := Start(t.Context(), Options{Node: name, URL: "http://" + name, Cluster: at, Routes: routes, Secret: secret,
		Beat: 200 * time.Millisecond, Rooms: h.list, Match: h, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, h
}

// awaitNodes waits until a node lists rooms of these nodes and of no other.
func awaitNodes(t *testing.T, f *Fleet, want ...string) {
	t.Helper()
	listed := func() map[string]bool {
		found := map[string]bool{}
		for _, r := range f.Rooms() {
			found[strings.TrimPrefix(r.Node, "http://")] = true
		}
		return found
	}
	wanted := map[string]bool{}
	for _, name := range want {
		wanted[name] = true
	}
	servicetest.Await(t, func() string { return fmt.Sprintf("%s to list rooms of %v, not %v", f.o.Node, want, listed()) },
		func() bool { return reflect.DeepEqual(listed(), wanted) })
}

// kill ends a node as a crash does: it says no goodbye.
func (f *Fleet) kill() {
	f.stop()
	f.tasks.Wait()
	f.end()
}

func TestThreeNodes(t *testing.T) {
	at := address(t)
	a, _ := start(t, "a", at)
	b, hallB := start(t, "b", address(t), at)
	c, _ := start(t, "c", address(t), at) // it finds b through a
	for _, f := range []*Fleet{a, b, c} {
		awaitNodes(t, f, "a", "b", "c")
	}
	servicetest.Await(t, func() string { return "a to know the owner of b's room" }, func() bool {
		url, ok := a.Owner("b-0")
		return ok && url == "http://b" && c.Stats().Nodes == 3
	})
	if url, ok := a.Owner("a-0"); ok {
		t.Errorf("a's own room is at another node, %q", url)
	}

	// Twelve players ask a for the four places of b's room.
	var mu sync.Mutex
	var places []match.Place
	servicetest.Await(t, func() string { return fmt.Sprintf("%d places, not %d", capacity, len(places)) }, func() bool {
		var asking sync.WaitGroup
		for i := range 12 {
			asking.Go(func() {
				place, err := a.Reserve(t.Context(), "b-0", match.Player{Name: fmt.Sprint("player-", i), Skill: 1000})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					places = append(places, place)
				}
			})
		}
		asking.Wait()
		return len(places) >= capacity
	})
	if len(places) != capacity {
		t.Fatalf("%d players have one of %d places", len(places), capacity)
	}
	hallB.join(t, places[0])
	b.Changed()
	name := hallB.seats[0].Player.Name
	for _, f := range []*Fleet{a, b, c} {
		servicetest.Await(t, func() string { return "the player to be found: " + fmt.Sprint(f.Find(name)) },
			func() bool { return reflect.DeepEqual(f.Find(name), []Presence{{"b-0", "http://b"}}) })
	}
	servicetest.Await(t, func() string { return "c to see that b's room is full" }, func() bool {
		for _, r := range c.Open() {
			if r.ID == "b-0" {
				return false
			}
		}
		return true
	})

	hallB.mu.Lock()
	hallB.seats[0].Leave() // a place becomes free, in a room of skill 1000
	hallB.mu.Unlock()
	b.Changed()
	q := match.New(c, match.Usual())
	servicetest.Await(t, func() string { return "a match from c into b's room" }, func() bool {
		place, _, err := q.Ask(t.Context(), match.Player{Name: "late", Skill: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return place != nil && place.URL == "http://b"
	})

	b.Close()
	awaitNodes(t, a, "a", "c")
	t.Run("restart", func(t *testing.T) {
		again, _ := start(t, "b", address(t), at)
		awaitNodes(t, c, "a", "b", "c")
		again.kill()
		awaitNodes(t, a, "a", "c") // by its silence alone
		awaitNodes(t, c, "a", "c")
		if _, err := a.Reserve(t.Context(), "b-0", match.Player{Name: "x"}); err == nil {
			t.Error("a place in a room that has gone")
		}
	})
}

func TestPartitionHeals(t *testing.T) {
	at := address(t)
	a, _ := start(t, "a", at)
	between := proxy.New(t, at)
	b, _ := start(t, "b", address(t), between.Addr())
	awaitNodes(t, a, "a", "b")
	awaitNodes(t, b, "a", "b")
	between.Refuse()
	awaitNodes(t, a, "a")
	awaitNodes(t, b, "b")
	between.Pass()
	awaitNodes(t, a, "a", "b")
	awaitNodes(t, b, "a", "b")
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestStrangersStayOut(t *testing.T) {
	at := address(t)
	a, _ := start(t, "a", at)
	h := &hall{name: "x", rooms: map[string]*match.Seats{"x-0": match.NewSeats(1, nil)}}
	log := &lines{}
	stranger, err := Start(t.Context(), Options{Node: "x", URL: "http://x", Beat: beat, Cluster: address(t), Routes: []string{at},
		Secret: []byte(strings.Repeat("x", minSecret)), Rooms: h.list, Match: h, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	servicetest.Await(t, func() string { return "the stranger to be refused, not " + log.String() },
		func() bool { return strings.Contains(log.String(), "TLS route handshake error") })
	if n := a.nats.NumRoutes() + stranger.nats.NumRoutes(); n != 0 {
		t.Errorf("%d routes", n)
	}
	for _, url := range []string{"nats://" + at, a.nats.ClientURL()} {
		if c, err := nats.Connect(url); err == nil {
			c.Close()
			t.Errorf("a client without the password may use %s", url)
		}
	}
}

func TestOneName(t *testing.T) {
	at := address(t)
	log := &lines{}
	h := &hall{name: "first", rooms: map[string]*match.Seats{"first-0": match.NewSeats(1, nil)}}
	first, err := Start(t.Context(), Options{Node: "a", URL: "http://first", Beat: beat, Cluster: at,
		Secret: secret, Rooms: h.list, Match: h, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, _ := start(t, "a", address(t), at)
	servicetest.Await(t, func() string { return "the second node of a name to be refused, not " + log.String() },
		func() bool { return strings.Contains(log.String(), "duplicate name") })
	awaitNodes(t, first, "first")
	awaitNodes(t, second, "a")
}

func TestChat(t *testing.T) {
	at := address(t)
	a, _ := start(t, "a", at)
	b, _ := start(t, "b", address(t), at)
	awaitNodes(t, a, "a", "b")
	heard := make(chan Message, 100)
	stop, err := b.Listen(Lobby, func(m Message) { heard <- m })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	others := make(chan Message, 100)
	stopRoom, err := b.Listen("room-b-0", func(m Message) { others <- m })
	if err != nil {
		t.Fatal(err)
	}
	defer stopRoom()

	// The first messages may be said before a knows that b listens.
	said := 0
	servicetest.Await(t, func() string { return "a message from a to b" }, func() bool {
		if err := a.Say(Message{Topic: Lobby, From: fmt.Sprint("ada-", said), Text: "hello"}); err != nil && !errors.Is(err, ErrRate) {
			t.Fatal(err)
		}
		said++
		return len(heard) > 0
	})
	if m := <-heard; m.Text != "hello" || m.Topic != Lobby || m.TimeMS == 0 {
		t.Errorf("heard %+v", m)
	}
	if len(others) > 0 {
		t.Error("the room hears the lobby")
	}
	rate := newChatRate()
	for range burst {
		if !rate.allow("bob") {
			t.Fatal("refused too early")
		}
	}
	if rate.allow("bob") || !rate.allow("ada") {
		t.Error("the rate of one player is not bounded, or bounds others")
	}
	for i := range 2 * maxTalkers {
		rate.allow(fmt.Sprint(i))
	}
	if len(rate.talkers) > maxTalkers {
		t.Errorf("%d rates are kept", len(rate.talkers))
	}
	for _, bad := range []Message{{}, {Topic: "a.b", From: "a", Text: "x"}, {Topic: Lobby, From: "a"}, {Topic: Lobby, From: "a", Text: "two\nlines"},
		{Topic: Lobby, From: "a", Text: strings.Repeat("x", MaxText+1)}, {Topic: Lobby, From: strings.Repeat("a", 33), Text: "x"}} {
		if a.Say(bad) == nil {
			t.Errorf("%+v was sent", bad)
		}
	}
}

func TestAnnouncementsAreBounded(t *testing.T) {
	f := &Fleet{o: Options{Node: "a", Beat: time.Hour, Log: slog.New(slog.DiscardHandler)}, nodes: map[string]*node{}, change: make(chan struct{}, 1)}
	var most announcement
	for i := range 2 * MaxNodes {
		most = announcement{Node: fmt.Sprint("n", i), Run: "r", URL: "http://n"}
		f.take(encode(t, most))
	}
	if s := f.Stats(); s.Nodes != MaxNodes || s.Malformed != MaxNodes+1 {
		t.Errorf("%+v", s)
	}
	for i := range MaxRooms {
		r := Room{ID: strings.Repeat("r", maxID), Players: 1 << 30, Capacity: 1 << 30, Tick: 1 << 31, Hz: 1 << 20, Spectators: 1 << 30, Free: 1 << 30, Rated: 1 << 30, Skill: -1 << 30}
		a := announced{Room: r}
		if i < MaxNames/2 {
			name := strings.Repeat("\x01", match.MaxName)
			a.Names = []string{name, name}
		}
		most.Rooms = append(most.Rooms, a)
	}
	if body := encode(t, most); len(body) > maxPayload {
		t.Errorf("the largest announcement has %d bytes, more than the %d that NATS carries", len(body), maxPayload)
	}
}

func TestPortTaken(t *testing.T) {
	a, _ := start(t, "a", "127.0.0.1:0")
	h := &hall{}
	_, err := Start(t.Context(), Options{Node: "b", URL: "http://b", Beat: beat, Cluster: a.Addr(), Secret: secret, Rooms: h.list, Match: h, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "taken") {
		t.Errorf("a port that is taken: %v", err)
	}
}

func TestFlags(t *testing.T) {
	dir := t.TempDir()
	good, short := filepath.Join(dir, "good"), filepath.Join(dir, "short")
	os.WriteFile(good, append(secret, '\n'), 0o600)
	os.WriteFile(short, []byte("short\n"), 0o600)
	parse := func(args ...string) (Flags, error) {
		var f Flags
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.Declare(set)
		return f, set.Parse(args)
	}
	if f, err := parse(); err != nil || !f.Alone() {
		t.Errorf("no flags: %v", err)
	}
	all := []string{"--node", "eu-1", "--public-url", "https://eu-1.example.com/", "--cluster", "127.0.0.1:7400", "--route", "127.0.0.1:7401", "--route", "b:7402", "--cluster-secret", good}
	f, err := parse(all...)
	if err != nil || f.Alone() {
		t.Fatal(err)
	}
	o, err := f.Options()
	if err != nil || o.URL != "https://eu-1.example.com" || len(o.Routes) != 2 || string(o.Secret) != string(secret) {
		t.Errorf("%+v, %v", o, err)
	}
	for i, want := range map[int][]string{1: {"a.b", "--node"}, 3: {"eu-1", "--public-url"}, 5: {"7400", "--cluster"}, 7: {":1", "--route"}, 11: {short, "32"}} {
		args := append([]string(nil), all...)
		args[i] = want[0]
		f, _ := parse(args...)
		if _, err := f.Options(); err == nil || !strings.Contains(err.Error(), want[1]) {
			t.Errorf("%v: %v", want, err)
		}
	}
	f, _ = parse("--node", "a")
	if _, err := f.Options(); err == nil || !strings.Contains(err.Error(), "--cluster-secret") {
		t.Error(err)
	}
}
