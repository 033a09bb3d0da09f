package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// find finds the stream, or makes it, and reads its bounds.
func (s *store) find(ctx context.Context) error {
	js, err := jetstream.New(s.nc)
	if err != nil {
		return err
	}
	s.stream, err = js.Stream(ctx, s.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s.stream, err = js.CreateStream(ctx, s.wanted())
	}
	if err != nil {
		return err
	}
	info, err := s.stream.Info(ctx)
	if err != nil {
		return err
	}
	if err := s.usable(info.Config); err != nil {
		return err
	}
	if info.State.Msgs > 0 {
		if err := s.whole(ctx, info.State.LastSeq); err != nil {
			return err
		}
	}
	most, err := s.askMaxBatch(ctx)
	if err != nil {
		return err
	}
	s.maxBatch.Store(int64(most))
	next := info.State.LastSeq + 1
	first := next
	if info.State.Msgs > 0 {
		first = info.State.FirstSeq
	}
	s.first.Store(first)
	s.next.Store(next)
	s.trimmed = first
	s.size.Store(int64(info.State.Bytes))
	return nil
}

// whole returns errPartial when the stream ends within an atomic batch. A server that runs out of
// room while it stores one leaves a part of it, and the rest to its next start.
func (s *store) whole(ctx context.Context, last uint64) error {
	message, err := s.stored(ctx, last)
	if err != nil {
		return err
	}
	if message.Header.Get(batchIDHeader) != "" && message.Header.Get(batchCommitHeader) == "" {
		return fmt.Errorf("%w: message %d is not its last", errPartial, last)
	}
	return nil
}

// defaultMaxBatch is what servers allow that are not told otherwise.
const defaultMaxBatch = 1000

// askMaxBatch asks how many messages an atomic batch may have, by sending one that is far beyond
// and belongs to no batch: it is not stored, and the error names the limit.
func (s *store) askMaxBatch(ctx context.Context) (int, error) {
	answer, err := s.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: s.subjects[0], Header: nats.Header{
		batchIDHeader: {nuid.Next()}, batchSeqHeader: {"1000000000"},
	}})
	if err != nil {
		return 0, err
	}
	err = s.acknowledged(answer.Data, 0)
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return 0, fmt.Errorf("asking for the limit of batches: %w", err)
	}
	switch {
	case api.ErrorCode == codeBatchTooLarge:
		return limitOf(api), nil
	case full(api): // which it says first; what is there can be read and trimmed
		return defaultMaxBatch, nil
	}
	return 0, api
}

// limitOf reads the limit out of the error that a batch is too large.
func limitOf(err *jetstream.APIError) int {
	if words := strings.Fields(err.Description); len(words) > 0 {
		if n, err := strconv.Atoi(words[len(words)-1]); err == nil && n > 0 {
			return n
		}
	}
	return defaultMaxBatch
}

// wanted is how a stream is made: files, no limits, and nothing leaves it but from its beginning.
func (s *store) wanted() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               s.Stream,
		Description:        "records of a write-ahead log",
		Subjects:           []string{s.Subject + ".>"},
		Storage:            jetstream.FileStorage,
		Replicas:           s.Replicas,
		Discard:            jetstream.DiscardNew,
		MaxMsgs:            -1,
		MaxBytes:           -1,
		MaxMsgSize:         -1,
		DenyDelete:         true,
		AllowDirect:        true,
		AllowAtomicPublish: true,
	}
}

// usable says what about a stream that exists would break the log's promises. Placement,
// compression and a limit in bytes that refuses new messages are the operator's to choose.
func (s *store) usable(c jetstream.StreamConfig) error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(c.AllowAtomicPublish, "it has no atomic publishing: the servers must be nats-server 2.12 or later (this one is %s), then: nats stream edit %s --allow-batch", s.nc.ConnectedServerVersion(), s.Stream)
	check(c.AllowDirect, "it has no direct reads: nats stream edit %s --allow-direct", s.Stream)
	check(c.Storage == jetstream.FileStorage, "it is kept in memory; it must be made anew with storage file")
	check(c.PersistMode != jetstream.AsyncPersistMode, "it acknowledges what is not yet on the disk (persist mode async); it must be made anew")
	check(c.Replicas >= s.Replicas, "it has %d replicas, %d are wanted: nats stream edit %s --replicas %d", c.Replicas, s.Replicas, s.Stream, s.Replicas)
	check(c.Retention == jetstream.LimitsPolicy, "its retention is %v: messages would vanish when they are consumed", c.Retention)
	check(c.MaxAge == 0, "its messages expire after %v: nats stream edit %s --max-age=-1", c.MaxAge, s.Stream)
	limited := c.MaxMsgs > 0 || c.MaxBytes > 0 || c.MaxMsgsPerSubject > 0
	check(!limited || c.Discard == jetstream.DiscardNew && c.MaxMsgsPerSubject <= 0, "it drops old messages at its limits: nats stream edit %s --discard=new", s.Stream)
	check(covers(c.Subjects, s.Subject), "its subjects %v are not only %s.>", c.Subjects, s.Subject)
	return errors.Join(problems...)
}

// covers reports whether a stream takes what is published here and nothing else: any other message
// would stand between the records.
func covers(subjects []string, prefix string) bool {
	return len(subjects) == 1 && (subjects[0] == prefix+".>" || subjects[0] == prefix+".*")
}
