// Package arena is the realtime game server: rooms of players on a fixed tick over WebSocket, with
// a small game to prove it, which its page plays in a browser.
//
// This package is the service: its command line and seams (Assembly), its HTTP API, the rooms that
// there are (lobby) and the connections that are open (sessions). What happens in a room is package
// room's, the rules are package game's.
//
// It is not for accounts, payments or worlds that outlive their players: a room ends with them.
//
// A running service owns the goroutines of the rooms and connections, one that pings, and those of
// what is done in the background; Drain ends them and waits.
package arena

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"dyno/parts/daemon"
	"dyno/parts/datadir"
	"dyno/services/arena/auth"
	"dyno/services/arena/fleet"
	"dyno/services/arena/heartbeat"
	"dyno/services/arena/lanes"
	"dyno/services/arena/match"
	"dyno/services/arena/recording"
	"dyno/services/arena/room"
	"dyno/services/arena/socket"

	"github.com/spf13/pflag"
)

// Service describes arenad.
func Service() daemon.Service { return ServiceWith(own) }

// ServiceWith describes arenad whose heartbeats are answered otherwise: the hook of exhibits
// (bench/claims/heartbeat). All else is as in Service.
func ServiceWith(beats Exchange) daemon.Service {
	f := flags{beats: beats}
	return daemon.Service{
		Name:  "arenad",
		Short: "Run rooms of a realtime game, with prediction, lag compensation and resume built in",
		Long: `Arenad runs rooms of players on a fixed tick, 30 times a second. Players join over WebSocket, in Protobuf (arena.v1.proto)
or as bit-packed deltas (arena.v1.bits), and play in the browser at the public address. The server decides everything: a
client sends what keys are pressed, and receives where all are.

Without --auth-key no token is asked, and the public address must be one of this machine alone.`,
		Example: `  arenad serve --listen 127.0.0.1:8080 --debug 127.0.0.1:8081 --data arenad-data
  curl -d '{"capacity":50,"bots":10}' http://127.0.0.1:8080/v1/rooms
  arenad serve --listen :8080 --auth-key arena.key
  arenad token --auth-key arena.key --name ada`,
		Assembly: Assembly(),
		Data:     &datadir.Folder{Format: 1},
		Flags:    f.declare,
		Start:    f.start,
	}
}

// flags are arenad's own.
type flags struct {
	key   string
	nodes nodes
	beats Exchange
}

func (f *flags) declare(set *pflag.FlagSet) {
	set.StringVar(&f.key, "auth-key", "", "`FILE` of the key that signs players' tokens (arenad token), made if it is missing; without it no token is asked, on a loopback address only")
	f.nodes.declare(set)
}

// server is what a process runs.
type server struct {
	*sessions
	data  string
	beats *heartbeat.Heartbeat
	queue *match.Queue

	background *lanes.Lanes // does what players do not wait for: recordings, by room, and chat

	fleet       *fleet.Fleet // nil: this node is alone
	deaf        func()       // ends the listening to other nodes' chat
	hangar      sync.WaitGroup
	parked      context.Context // until the last player has gone
	leaveHangar context.CancelFunc
}

func (f *flags) start(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
	if at, ok := env.Listen.Addr().(*net.TCPAddr); f.key == "" && (!ok || !at.IP.IsLoopback()) {
		return daemon.Running{}, daemon.Usage(fmt.Errorf("--listen %v is open to other machines: give --auth-key FILE, so that players need tokens, or listen on 127.0.0.1", env.Listen.Addr()))
	}
	c := FromChoice(env.Choice)
	stats := new(room.Stats)
	lobby := newLobby(c, stats, env.Log)
	s := &server{data: env.Data, queue: match.New(lobby, match.Usual()), beats: heartbeat.New(c.Heartbeat), background: lanes.New(lanes.Config{})}
	s.parked, s.leaveHangar = context.WithCancel(context.Background())
	s.sessions = &sessions{lobby: lobby, accept: socket.Frames, open: map[*session]bool{}, owner: s.owner, say: s.say}
	if c.Socket == "coder" {
		s.accept = socket.Coder
	}
	if f.key != "" {
		var err error
		if s.keys, err = auth.Follow(f.key, env.Log); err != nil {
			return daemon.Running{}, daemon.Usage(fmt.Errorf("--auth-key: %w", err))
		}
		s.key = s.keys.Current()
	}
	lobby.record = s.record
	if err := f.nodes.join(ctx, s, env); err != nil {
		return daemon.Running{}, err
	}
	// What the debug address shows is complete before it is asked.
	if err := expose(env, s, stats); err != nil {
		s.part()
		return daemon.Running{}, err
	}
	env.Debug.HandleFunc("GET /debug/arena/rooms/{id}", s.debugRoom)
	env.Board("/debug/arena/", board)
	env.Debug.HandleFunc("GET /debug/arena/presence", s.debugPresence)
	beats, front, err := s.exchange(f.beats, env)
	if err != nil {
		return daemon.Running{}, err
	}
	running := daemon.Running{Handler: s.handler(beats), Front: front, WriteTimeout: 30 * time.Second, Drain: s.drain}
	s.running.Go(s.sessions.run)
	if s.keys != nil {
		s.running.Go(func() { s.keys.Watch(lobby.ending) })
	}
	s.running.Go(func() { s.beats.Run(lobby.ending) })
	return running, nil
}

// drain ends all rooms and connections.
func (s *server) drain(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.close()
		s.background.Close()
		s.part()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d connections are still open: %w", s.count(), ctx.Err())
	}
}

// maxRecordings is how many recordings a folder takes.
const maxRecordings = 1000

// record begins the recording of a room.
func (s *server) record(id string, o room.Options) (room.Recorder, error) {
	folder := filepath.Join(s.data, "recordings")
	if files, err := os.ReadDir(folder); err == nil && len(files) >= maxRecordings {
		return nil, fmt.Errorf("%s has %d files: move some away", folder, len(files))
	}
	path := filepath.Join(folder, id+".rec")
	w, err := recording.Create(path, recording.Header{Room: id, Seed: o.Seed, Capacity: o.Capacity, Bots: o.Bots}, s.background)
	if err != nil {
		return nil, err
	}
	return w, nil
}
