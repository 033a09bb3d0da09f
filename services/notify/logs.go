package notify

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dyno/parts/daemon"
	"dyno/parts/wal"
	"dyno/parts/wal/memory"
	"dyno/parts/wal/segment"
	"dyno/services/notify/jetstream"
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
		return segment.Open(filepath.Join(c.Data, name), c.segmentOptions(name))
	},
	"jetstream": openStream,
	"memory":    func(Config, string) (wal.Backend, error) { return memory.New(), nil },
}

// journalReserve is what the journal may write on a full disk, in bytes: the notes of some 80,000 deliveries, which are
// made within seconds. A checkpoint then gives up what it can.
const journalReserve = 4 << 20

func (c Config) segmentOptions(name string) segment.Options {
	o := segment.Options{Log: c.Logger, Exists: c.exists, AcceptDamage: c.AcceptDamage}
	if name == journalLog {
		o.Reserve = journalReserve
	}
	return o
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
		if c.exists, err = checkEngine(c.Data, c.Log); err != nil {
			return l, err
		}
	}
	notices, err := open(c, noticesLog)
	if err != nil {
		return l, explain(err)
	}
	events, err := open(c, journalLog)
	if err == nil && c.Data != "" && !c.exists { // last: it says that there are logs
		err = daemon.WriteDurably(filepath.Join(c.Data, engineFile), []byte(c.Log+"\n"))
	}
	if err != nil {
		return l, errors.Join(explain(err), notices.Close())
	}
	l.notices = wal.New(notices, wal.Options{Commit: commit})
	// What the journal is told is mostly not waited for, so it is always written in groups.
	l.journal = wal.New(events, wal.Options{Commit: wal.Group})
	return l, nil
}

// explain adds to an error of opening a log how to go on after damage.
func explain(err error) error {
	if errors.Is(err, wal.ErrDamaged) {
		return fmt.Errorf("%w: %s", err, errAccept)
	}
	return err
}

// checkEngine keeps a folder from being taken for empty because another engine wrote it. It reports whether there are
// logs in it.
func checkEngine(dir, engine string) (exists bool, err error) {
	path := filepath.Join(dir, engineFile)
	was, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	have := strings.TrimSpace(string(was))
	if openBackends[have] == nil {
		return false, fmt.Errorf("%s says that log=%.20q wrote this data folder, and there are only %s: choose another folder with --data, or start the version that wrote it; if the file is damaged, write the log's name into it, %s unless another was chosen with --set log",
			path, have, strings.Join(slices.Sorted(maps.Keys(openBackends)), ", "), engine)
	}
	if have != engine {
		return false, fmt.Errorf("the data folder %s was written with log=%s, not %s: start with --set log=%[2]s, or choose another folder with --data", dir, have, engine)
	}
	return true, nil
}
