package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"dyno/services/arena/match"
)

// Subjects. Their prefix has the version of the messages.
const (
	announcements = "arena.v1.nodes"
	reservations  = "arena.v1.reserve." // and the node
	chat          = "arena.v1.chat."    // and the topic
)

// Room is a room as the API lists it, and what a match needs of it.
type Room struct {
	ID         string `json:"id"`
	Players    int    `json:"players"`
	Capacity   int    `json:"capacity"`
	Tick       uint32 `json:"tick"`
	Hz         int    `json:"hz"`
	Spectators int    `json:"spectators"`
	Node       string `json:"node,omitempty"` // its URL; the directory fills it in

	Free  int      `json:"free"`  // places that are neither taken nor held
	Rated int      `json:"rated"` // players whose skill is known
	Skill int      `json:"skill"` // the mean of those
	Names []string `json:"-"`     // of its players
}

// Presence is where a player is.
type Presence struct {
	Room string `json:"room"`
	Node string `json:"node"` // its URL
}

// announcement is what a node says of itself, as JSON.
type announcement struct {
	Node  string      `json:"node"`
	Run   string      `json:"run"`
	Gone  bool        `json:"gone,omitempty"` // it ends
	URL   string      `json:"url,omitempty"`
	Rooms []announced `json:"rooms,omitempty"`
}

type announced struct {
	Room
	Names []string `json:"names,omitempty"`
}

// node is another node as it announced itself.
type node struct {
	run, url string
	heard    time.Time
	rooms    []Room
	owns     map[string]bool // rooms, by id
	names    map[string]int  // players, each with the index of its room
}

// Changed asks for an announcement now, not at the next beat: a room was made, filled up or ended.
func (f *Fleet) Changed() {
	select {
	case f.change <- struct{}{}:
	default: // one is due already
	}
}

// beat announces this node until ctx ends, and forgets those that are silent.
func (f *Fleet) beat(ctx context.Context) {
	tick := time.NewTicker(f.o.Beat)
	defer tick.Stop()
	rest := time.NewTimer(0) // between announcements of changes
	defer rest.Stop()
	for {
		f.announce()
		f.forget()
		select {
		case <-rest.C:
		case <-ctx.Done():
			return
		}
		select {
		case <-tick.C:
		case <-f.change:
		case <-ctx.Done():
			return
		}
		rest.Reset(f.o.Beat / 10)
	}
}

func (f *Fleet) announce() {
	a := announcement{Node: f.o.Node, Run: f.run, URL: f.o.URL}
	names := 0
	for _, r := range f.o.Rooms() {
		if len(a.Rooms) == MaxRooms {
			break
		}
		r.Names = r.Names[:min(len(r.Names), MaxNames-names)]
		names += len(r.Names)
		a.Rooms = append(a.Rooms, announced{r, r.Names})
	}
	f.publish(announcements, a)
}

// publish sends a message as JSON. What cannot be sent now is sent again at the next beat, or was
// chat.
func (f *Fleet) publish(subject string, message any) {
	body, err := json.Marshal(message)
	if err == nil {
		err = f.conn.Publish(subject, body)
	}
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		f.o.Log.Warn("a message to the other nodes was not sent", "subject", subject, "bytes", len(body), "error", err)
	}
}

func (f *Fleet) receiveAnnouncement(m *nats.Msg) { f.take(m.Data) }

// take takes an announcement into the directory.
func (f *Fleet) take(body []byte) {
	a, err := decodeAnnouncement(body)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.malformed(err)
		return
	}
	known := f.nodes[a.Node]
	switch {
	case a.Node == f.o.Node: // NATS keeps nodes of one name apart, and logs it
	case a.Gone:
		if known != nil && known.run == a.Run {
			delete(f.nodes, a.Node)
			f.o.Log.Info("a node has left", "node", a.Node)
		}
	case known == nil && len(f.nodes) >= MaxNodes-1:
		f.malformed(fmt.Errorf("node %s is one more than %d", a.Node, MaxNodes))
	default:
		f.nodes[a.Node] = a.node(time.Now())
		if known == nil || known.run != a.Run {
			f.o.Log.Info("a node has joined", "node", a.Node, "url", a.URL)
			f.Changed() // so that it knows this one soon
		}
	}
}

// malformed counts a message that cannot be read and logs the first: a node of another version
// would repeat it every second.
func (f *Fleet) malformed(err error) {
	if f.stats.Malformed++; f.stats.Malformed == 1 {
		f.o.Log.Warn("a message of another node is ignored, and so are further ones", "error", err)
	}
}

func decodeAnnouncement(body []byte) (a announcement, err error) {
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("an announcement is not as expected: %w", err)
	}
	if !identifier.MatchString(a.Node) || !identifier.MatchString(a.Run) || len(a.Rooms) > MaxRooms || len(a.URL) > maxURL {
		return a, fmt.Errorf("the announcement of node %.64q has bad names or %d rooms", a.Node, len(a.Rooms))
	}
	if u, err := url.Parse(a.URL); !a.Gone && (err != nil || u.Host == "") {
		return a, fmt.Errorf("node %s announces the URL %q", a.Node, a.URL)
	}
	for _, r := range a.Rooms {
		if !identifier.MatchString(r.ID) {
			return a, fmt.Errorf("node %s announces a room %.64q", a.Node, r.ID)
		}
	}
	return a, nil
}

func (a announcement) node(now time.Time) *node {
	n := &node{run: a.Run, url: a.URL, heard: now, owns: map[string]bool{}, names: map[string]int{}}
	for _, r := range a.Rooms {
		r.Node = a.URL
		n.owns[r.ID] = true
		for _, name := range r.Names {
			if len(n.names) < MaxNames {
				n.names[name] = len(n.rooms)
			}
		}
		n.rooms = append(n.rooms, r.Room)
	}
	return n
}

// alive yields the other nodes that are not silent, in the order of their names.
func (f *Fleet) alive() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
			if n := f.nodes[name]; time.Since(n.heard) < silence*f.o.Beat && !yield(n) {
				return
			}
		}
	}
}

func (f *Fleet) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, n := range f.nodes {
		if time.Since(n.heard) >= silence*f.o.Beat {
			delete(f.nodes, name)
			f.o.Log.Warn("a node is silent, and its rooms are dropped", "node", name, "rooms", len(n.rooms))
		}
	}
}

// Rooms lists the rooms of all nodes, those of this one first.
func (f *Fleet) Rooms() []Room {
	rooms := slices.Clone(f.o.Rooms())
	for i := range rooms {
		rooms[i].Node = f.o.URL
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := range f.alive() {
		rooms = append(rooms, n.rooms...)
	}
	return rooms
}

// Owner returns the URL of the other node that has a room.
func (f *Fleet) Owner(room string) (url string, ok bool) {
	_, url, ok = f.owner(room)
	return url, ok
}

func (f *Fleet) owner(room string) (name, url string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, n := range f.nodes {
		if n.owns[room] && time.Since(n.heard) < silence*f.o.Beat {
			return name, n.url, true
		}
	}
	return "", "", false
}

// Find returns where players of a name are.
func (f *Fleet) Find(name string) (found []Presence) {
	for _, r := range f.o.Rooms() {
		if slices.Contains(r.Names, name) {
			found = append(found, Presence{r.ID, f.o.URL})
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := range f.alive() {
		if room, ok := n.names[name]; ok {
			found = append(found, Presence{n.rooms[room].ID, n.url})
		}
	}
	return found
}

// Open lists the rooms of all nodes for a match, those of this one first.
func (f *Fleet) Open() []match.Room {
	open := f.o.Match.Open()
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := range f.alive() {
		for _, r := range n.rooms {
			if r.Free > 0 {
				open = append(open, match.Room{ID: r.ID, Free: r.Free, Rated: r.Rated, Skill: r.Skill})
			}
		}
	}
	return open
}
