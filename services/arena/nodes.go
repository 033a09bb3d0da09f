package arena

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/pflag"

	"dyno/parts/daemon"
	"dyno/services/arena/agones"
	"dyno/services/arena/fleet"
	"dyno/services/arena/match"
	"dyno/services/arena/room"
	"dyno/services/arena/wire"
)

// nodes is what is beyond this server: other nodes, and the hangar that it runs in.
type nodes struct {
	fleet  fleet.Flags
	agones bool
}

func (n *nodes) declare(set *pflag.FlagSet) {
	n.fleet.Declare(set)
	agones.Declare(set, &n.agones)
}

// join starts what the flags ask for. The server ends it.
func (n *nodes) join(ctx context.Context, s *server, env *daemon.Env) error {
	if !n.fleet.Alone() {
		if n.agones && n.fleet.URL == "" {
			found, err := agones.New("").GameServer(ctx)
			if err == nil {
				n.fleet.URL, err = found.URL()
			}
			if err != nil {
				return fmt.Errorf("asking Agones for the address of this server, as there is no --public-url: %w", err)
			}
		}
		o, err := n.fleet.Options()
		if err != nil {
			return daemon.Usage(err)
		}
		o.Rooms, o.Match, o.Log = s.listed, s.lobby, env.Log
		if s.fleet, err = fleet.Start(ctx, o); err != nil {
			return err
		}
		s.changed = s.fleet.Changed
		s.queue = match.New(s.fleet, match.Usual())
		s.deaf, err = s.fleet.Listen(fleet.Lobby, func(m fleet.Message) { s.hear(m.From, m.Text) })
		if err != nil {
			s.fleet.Close()
			return err
		}
	}
	if n.agones {
		s.hangar.Go(func() {
			agones.Run(s.parked, agones.Options{SDK: agones.New(""), Players: s.players, Log: env.Log, Pace: agones.Pace})
		})
	}
	return nil
}

// part leaves the other nodes, and lets the hangar go, when there are no players any more.
func (s *server) part() {
	if s.fleet != nil {
		s.deaf()
		s.fleet.Close()
	}
	s.leaveHangar()
	s.hangar.Wait()
}

// listed is the rooms of this node.
func (l *lobby) listed() []fleet.Room {
	out := []fleet.Room{}
	for _, r := range l.all() {
		i, open := r.Info(), r.Open()
		out = append(out, fleet.Room{ID: i.ID, Players: i.Players, Capacity: i.Capacity, Tick: i.Tick, Hz: i.Hz, Spectators: i.Spectators,
			Free: open.Free, Rated: open.Rated, Skill: open.Skill, Names: r.Names()})
	}
	return out
}

// entry is a room in the answer of GET /v1/rooms, without what only a match needs of it.
type entry struct {
	room.Info
	Node string `json:"node,omitempty"`
}

// rooms is those of all nodes.
func (s *server) rooms() []entry {
	rooms := s.listed
	if s.fleet != nil {
		rooms = s.fleet.Rooms
	}
	out := []entry{}
	for _, r := range rooms() {
		out = append(out, entry{room.Info{ID: r.ID, Players: r.Players, Capacity: r.Capacity, Tick: r.Tick, Hz: r.Hz, Spectators: r.Spectators}, r.Node})
	}
	return out
}

// players is how many play here, and how many may.
func (s *server) players() (count, capacity int) {
	for _, r := range s.listed() {
		count, capacity = count+r.Players, capacity+r.Capacity
	}
	return count, max(capacity, defaultCapacity)
}

// owner says where a room is that is not here.
func (s *server) owner(room string) string {
	if s.fleet == nil {
		return ""
	}
	url, _ := s.fleet.Owner(room)
	return url
}

// find answers GET /v1/players/{name}: the rooms in which players of that name are.
func (s *server) find(w http.ResponseWriter, r *http.Request) {
	name, found := r.PathValue("name"), []fleet.Presence{}
	if s.fleet != nil {
		found = append(found, s.fleet.Find(name)...)
	} else {
		for _, room := range s.listed() {
			for _, other := range room.Names {
				if other == name {
					found = append(found, fleet.Presence{Room: room.ID})
				}
			}
		}
	}
	answer(w, http.StatusOK, found)
}

// say passes what a player says on to all players of all nodes, in the background, since it takes
// the lock of each room, or the network. False: too much waits already.
func (s *server) say(name, text string) bool {
	return s.background.Try("chat", func() {
		if s.fleet == nil {
			s.hear(name, text)
			return
		}
		if err := s.fleet.Say(fleet.Message{Topic: fleet.Lobby, From: cmp.Or(name, "a player"), Text: text}); err != nil {
			s.stats.Reject(room.ReasonEvent)
		}
	})
}

// hear shows what was said to the players of this node.
func (s *server) hear(name, text string) {
	for _, r := range s.all() {
		r.Announce(wire.ActionLobby, []byte(cmp.Or(name, "a player")+": "+text))
	}
}

// nodes is the number of servers that are known.
func (s *server) nodes() float64 {
	if s.fleet == nil {
		return 1
	}
	return float64(s.fleet.Stats().Nodes)
}
