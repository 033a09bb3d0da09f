package notify

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dyno/parts/daemon"
	"dyno/parts/wal"
	"dyno/parts/wal/jetstream"
	"dyno/parts/wal/memory"
	"dyno/parts/wal/pebblelog"
	"dyno/parts/wal/segment"
)

// JetStream is where the log "jetstream" is.
type JetStream struct {
	URL         string
	Name        string // of the streams: NAME_notices and NAME_journal
	Replicas    int
	Credentials string // file; "": none
}

// logs are the two that a dispatcher lives on.
type logs struct{ notices, journal *wal.Log }

// The logs' names: folders, or ends of streams' names.
const (
	noticesLog = "notices"
	journalLog = "journal"
)

// openBackends names the implementations of the seam "log".
var openBackends = map[string]func(c Config, name string) (wal.Backend, error){
	"segment": func(c Config, name string) (wal.Backend, error) {
		return segment.Open(filepath.Join(c.Data, name), segment.Options{Log: c.Logger})
	},
	"pebble": func(c Config, name string) (wal.Backend, error) {
		return pebblelog.Open(filepath.Join(c.Data, name))
	},
	"jetstream": openStream,
	"memory":    func(Config, string) (wal.Backend, error) { return memory.New(), nil },
}

// commits names the implementations of the seam "commit".
var commits = map[string]wal.Commit{"each": wal.Each, "group": wal.Group}

// partitions of the stream of notices: so many consumers of NATS's own can share it, each with whole keys.
const partitions = 16

func openStream(c Config, name string) (wal.Backend, error) {
	if c.JetStream.URL == "" {
		return nil, errors.New("log=jetstream needs the address of a server: --set jetstream_url=nats://127.0.0.1:4222")
	}
	config := jetstream.Config{
		URL: c.JetStream.URL, Stream: c.JetStream.Name + "_" + name, Replicas: c.JetStream.Replicas, Credentials: c.JetStream.Credentials,
	}
	if name == noticesLog {
		config.Partitions, config.Partition = partitions, partition
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return jetstream.Open(ctx, config)
}

// partition spreads notices by their keys.
func partition(record []byte) uint32 {
	if _, _, rest, err := glance(record); err == nil {
		if key, _, ok := cutText(rest); ok {
			return crc32.ChecksumIEEE(key)
		}
	}
	return 0
}

// engineFile says which log a data folder was written with.
const engineFile = "ENGINE"

func openLogs(c Config) (l logs, err error) {
	open, err := pick("log", openBackends, c.Log)
	if err != nil {
		return l, err
	}
	if c.openBackend != nil {
		open = c.openBackend
	}
	commit, err := pick("commit", commits, c.Commit)
	if err != nil {
		return l, err
	}
	if c.Data != "" {
		if err := checkEngine(c.Data, c.Log); err != nil {
			return l, err
		}
	}
	notices, err := open(c, noticesLog)
	if err != nil {
		return l, err
	}
	events, err := open(c, journalLog)
	if err != nil {
		return l, errors.Join(err, notices.Close())
	}
	l.notices = wal.New(notices, wal.Options{Commit: commit})
	// What the journal is told is mostly not waited for, so it is always written in groups.
	l.journal = wal.New(events, wal.Options{Commit: wal.Group})
	return l, nil
}

// checkEngine keeps a folder from being taken for empty because another engine wrote it.
func checkEngine(dir, engine string) error {
	path := filepath.Join(dir, engineFile)
	was, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return daemon.WriteDurably(path, []byte(engine+"\n"))
	}
	if err != nil {
		return err
	}
	if have := strings.TrimSpace(string(was)); have != engine {
		return fmt.Errorf("the data folder %s was written with log=%s, not %s: start with --set log=%[2]s, or choose another folder with --data", dir, have, engine)
	}
	return nil
}
