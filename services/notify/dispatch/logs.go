package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dyno/parts/datadir"
	"dyno/parts/refusal"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"
	"dyno/services/notify/jetstream"
	"dyno/services/notify/notice"
)

// StoreOptions of a Store.
type StoreOptions struct {
	Log, Commit  string // implementations, by name
	Data         string // folder of the logs; "" means none
	JetStream    JetStream
	AcceptDamage bool // start without what cannot be read

	DeadLetters int   // kept for one subscription
	DeadBytes   int64 // of these

	Logger  *slog.Logger
	Fail    func(error)                                     // receives the error of a log that can take no more; nil means none
	Backend func(StoreOptions, string) (wal.Backend, error) // for tests: opens the logs instead; nil means none
	exists  bool                                            // the logs were made before
}

// JetStream is where the log "jetstream" is.
type JetStream struct {
	URL         string `set:"jetstream_url" default:"" doc:"comma-separated URLs of NATS servers for log=jetstream, such as nats://127.0.0.1:4222"`
	Name        string `set:"jetstream_name" default:"notifyd" doc:"name of the streams: NAME_notices and NAME_journal"`
	Replicas    int    `set:"jetstream_replicas" default:"1" min:"1" max:"5" doc:"replicas of each stream when it is made: 3 on a cluster"`
	Credentials string `set:"jetstream_credentials" default:"" doc:"file with credentials for NATS"`
}

// The logs' names: folders, or ends of streams' names.
const (
	NoticesName = "notices"
	JournalName = "journal"
)

// openBackends has the values of the setting "log".
var openBackends = map[string]func(o StoreOptions, name string) (wal.Backend, error){
	"segment": func(o StoreOptions, name string) (wal.Backend, error) {
		return segment.Open(filepath.Join(o.Data, name), o.Segments(name))
	},
	"jetstream": openStream,
}

// journalReserve is what the journal may write on a full disk, in bytes: the events of some 80,000
// deliveries, which are made within seconds. A checkpoint then drops what it can.
const journalReserve = 4 << 20

// Segments are the options of a log in files.
func (o StoreOptions) Segments(name string) segment.Options {
	out := segment.Options{Log: o.Logger, Exists: o.exists, AcceptDamage: o.AcceptDamage}
	if name == JournalName {
		out.Reserve = journalReserve
	}
	return out
}

// commits names the implementations of the seam "commit".
var commits = map[string]wal.Commit{"each": wal.PerAppend, "group": wal.Group}

// partitions of the stream of notices: as many consumers of NATS can share it, each with whole
// keys.
const partitions = 16

func openStream(o StoreOptions, name string) (wal.Backend, error) {
	if o.JetStream.URL == "" {
		return nil, errors.New("log=jetstream needs the address of a server: --set jetstream_url=nats://127.0.0.1:4222")
	}
	config := jetstream.Config{
		URL: o.JetStream.URL, Stream: o.JetStream.Name + "_" + name, Replicas: o.JetStream.Replicas, Credentials: o.JetStream.Credentials,
	}
	if name == NoticesName {
		config.Partitions, config.Partition = partitions, notice.Partition
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return jetstream.Open(ctx, config)
}

// EngineFile says which log a data folder was written with.
const EngineFile = "ENGINE"

func openLogs(o StoreOptions) (notices, events *wal.Log, err error) {
	open, err := refusal.Pick("log", openBackends, o.Log)
	if err != nil {
		return nil, nil, err
	}
	if o.Backend != nil {
		open = o.Backend
	}
	commit, err := refusal.Pick("commit", commits, o.Commit)
	if err != nil {
		return nil, nil, err
	}
	if o.Data != "" {
		if o.exists, err = checkEngine(o.Data, o.Log); err != nil {
			return nil, nil, err
		}
	}
	first, err := open(o, NoticesName)
	if err != nil {
		return nil, nil, explain(err)
	}
	second, err := open(o, JournalName)
	if err == nil && o.Data != "" && !o.exists { // last: it says that there are logs
		err = datadir.WriteDurably(filepath.Join(o.Data, EngineFile), []byte(o.Log+"\n"))
	}
	if err != nil {
		return nil, nil, errors.Join(explain(err), first.Close())
	}
	// Most callers do not wait for an event of the journal, so it is always written in groups.
	return wal.New(first, wal.Options{Commit: commit}), wal.New(second, wal.Options{Commit: wal.Group}), nil
}

// explain adds to an error of opening a log how to go on after damage.
func explain(err error) error {
	if errors.Is(err, wal.ErrDamaged) {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return err
}

// checkEngine refuses a folder that another engine wrote, instead of taking it for empty. It
// reports whether there are logs in it.
func checkEngine(dir, engine string) (exists bool, err error) {
	path := filepath.Join(dir, EngineFile)
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
