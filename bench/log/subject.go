package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// subject is one way to make records durable.
type subject struct {
	name    string
	about   string
	callers int    // that append at the same time
	batch   int    // records of one append
	needs   string // a program that must be there; "": none
	open    func(ctx context.Context, e environment) (*opened, error)
}

// environment is what a subject is given.
type environment struct {
	dir     string // fresh and empty
	notifyd string // the built program
	callers int
	batch   int
}

// opened is a subject that is ready to be measured.
type opened struct {
	// caller returns a function for one of the callers, which appends a batch and returns when it is
	// durable. It is called once for each, from the goroutine that will use it.
	caller func(i int) (appendBatch func() error, err error)
	// window, when set, is measured in place of callers: it appends as fast as it may until the context
	// ends, waits for what is outstanding and tells for each batch when it was sent. Its acknowledgements
	// come in bursts, so that it is measured from its first append to its last acknowledgement.
	window func(ctx context.Context, acknowledged func(sent time.Time)) error
	pid    int // of the process that writes the disk; 0: this one
	close  func() error
}

// reference is what network subjects are compared with, bare what bare logs are.
const (
	reference = "jetstream-async"
	bare      = "segment-group"
)

var subjects = []subject{
	{"segment-group", "parts/wal on files, one fsync for all that wait", producers, 1, "", segmentLog(group)},
	{"segment-each", "parts/wal on files, an fsync for each", producers, 1, "", segmentLog(each)},
	{"pebble-native", "pebble, Commit(Sync) by each", producers, 1, "", pebbleNative},
	{"tidwall-native", "tidwall/wal behind a mutex, Write by each", producers, 1, "", tidwallNative},
	{"tidwall-group", "tidwall/wal, one WriteBatch for all that wait", producers, 1, "", tidwallGroup},
	{"segment-1", "segment-group with one caller", 1, 1, "", segmentLog(group)},
	{"pebble-1", "pebble-native with one caller", 1, 1, "", pebbleNative},
	{"tidwall-1", "tidwall-native with one caller", 1, 1, "", tidwallNative},

	{"jetstream-async", "JetStream, PublishAsync, 4,096 outstanding", 1, 1, "", jetstreamAsync},
	{"jetstream-batch-64", "JetStream, atomic batches of 64 from 8 connections", 8, 64, "", jetstreamAtomic},
	{"jetstream-batch-1000", "JetStream, atomic batches of 1,000 from 8 connections", 8, 1000, "", jetstreamAtomic},
	{"jetstream-wal", "parts/wal on JetStream, one atomic batch for all that wait", producers, 1, "", jetstreamLog},
	{"redis-pipeline-64", "Redis stream, XADD in pipelines of 64 from 8 connections", 8, 64, "redis-server", redisStream},
	{"redis-64", "Redis stream, XADD from 64 connections", producers, 1, "redis-server", redisStream},
	{"notifyd-64", "notifyd, one notice a POST from 64 connections", producers, 1, "", notifydIngest},
	{"notifyd-batch-64", "notifyd, NDJSON of 64 from 8 connections", 8, 64, "", notifydIngest},
	{"notifyd-batch-1000", "notifyd, NDJSON of 1,000 from 8 connections", 8, 1000, "", notifydIngest},
}

// comparison is a ratio that the table ends with, b over a.
type comparison struct{ a, b string }

var comparisons = []comparison{
	{"pebble-native", bare}, {"tidwall-native", bare}, {"tidwall-group", bare}, {"pebble-1", "segment-1"}, {"tidwall-1", "segment-1"},
	{reference, bare},
	{reference, "notifyd-64"}, {reference, "notifyd-batch-64"}, {reference, "notifyd-batch-1000"},
	{"jetstream-batch-64", "notifyd-batch-64"}, {"jetstream-batch-1000", "notifyd-batch-1000"},
	{"redis-64", "notifyd-64"}, {"redis-pipeline-64", "notifyd-batch-64"},
}

func subjectOf(name string) (subject, error) {
	i := slices.IndexFunc(subjects, func(s subject) bool { return s.name == name })
	if i < 0 {
		return subject{}, fmt.Errorf("there is no subject %q", name)
	}
	return subjects[i], nil
}

// chosen returns the subjects whose names contain one of the words.
func chosen(only string) ([]subject, error) {
	if only == "" {
		return subjects, nil
	}
	var out []subject
	for _, s := range subjects {
		if slices.ContainsFunc(strings.Split(only, ","), func(word string) bool { return strings.Contains(s.name, word) }) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no subject's name contains any of %q", only)
	}
	return out, nil
}
