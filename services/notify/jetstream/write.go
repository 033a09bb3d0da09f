package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"dyno/parts/wal"
)

const (
	// unitBytes is how many bytes of batches are published as one: the server holds them until the
	// commit.
	unitBytes = 8 << 20
	// headerRoom is what the headers of a message take at most, in bytes; they count towards its size.
	headerRoom = 1 << 10

	// markHeader says who published a unit, and which of his it is. The first message of a unit has
	// it.
	markHeader = "Log-Unit"

	batchIDHeader     = "Nats-Batch-Id"
	batchSeqHeader    = "Nats-Batch-Sequence"
	batchCommitHeader = "Nats-Batch-Commit"
)

// Write publishes whole batches together as atomic batches, a single record alone. Each says
// where it expects the stream to end, so that it is stored there, once, or not at all, however
// often it is tried.
//
// An error that is neither wal.ErrFull, ErrTooLarge nor ErrFailed says that the servers did not
// answer: the next Write first finds out what became of this one.
func (s *store) Write(batches [][][]byte) error {
	done, err := s.begin()
	if err != nil {
		return err
	}
	defer done()
	if s.failed != nil {
		return s.failed
	}
	units, err := s.divide(batches)
	if err != nil {
		return err
	}
	if err := s.clear(); err != nil {
		return err
	}
	for i, records := range units {
		if err := s.put(records); err != nil {
			if i > 0 && s.failed == nil {
				// What is stored cannot be taken back.
				s.fail(fmt.Errorf("only a part of an atomic batch is stored: %w", err))
				return s.failed
			}
			return err
		}
	}
	return nil
}

// Admit implements wal.Limited: a batch is one atomic batch, and a record one message.
func (s *store) Admit(batch [][]byte) error {
	if most := s.maxBatch.Load(); int64(len(batch)) > most {
		return fmt.Errorf("%w: %d records, and the servers take %d in one batch; raise their jetstream.limits.batch.max_msgs and start again", wal.ErrTooLarge, len(batch), most)
	}
	for _, record := range batch {
		if int64(len(record)) > s.maxBytes {
			return fmt.Errorf("%w: a record has %d bytes, and the servers take %d; raise their max_payload and start again", wal.ErrTooLarge, len(record), s.maxBytes)
		}
	}
	return nil
}

// divide joins batches to units, each of which is stored whole or not at all.
func (s *store) divide(batches [][][]byte) (units [][][]byte, err error) {
	var unit [][]byte
	size, most := 0, int(s.maxBatch.Load())
	for _, batch := range batches {
		if err := s.Admit(batch); err != nil {
			return nil, err
		}
		bytes := 0
		for _, record := range batch {
			bytes += len(record)
		}
		if len(unit) > 0 && (len(unit)+len(batch) > most || size+bytes > unitBytes) {
			units, unit, size = append(units, unit), nil, 0
		}
		unit, size = append(unit, batch...), size+bytes
	}
	if len(unit) > 0 {
		units = append(units, unit)
	}
	return units, nil
}

// clear finds out what became of a unit whose outcome was left open.
func (s *store) clear() error {
	if !s.doubt {
		return nil
	}
	var last uint64
	err := s.persist(s.ctx, func(ctx context.Context) error {
		info, err := s.stream.Info(ctx)
		if err == nil {
			last = info.State.LastSeq
		}
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("jetstream: asking where stream %s ends: %w", s.Stream, err)
	case last+1 != s.next.Load():
		s.fail(fmt.Errorf("stream %s ends at %d instead of %d: another writes to it, or what was given up is stored", s.Stream, last, s.next.Load()-1))
		return s.failed
	}
	s.doubt = false
	return nil
}

// put stores a unit under the next numbers.
func (s *store) put(records [][]byte) error {
	base := s.next.Load() - 1
	s.units++
	mark := s.writer + "-" + strconv.FormatUint(s.units, 10)
	err := s.persist(s.ctx, func(ctx context.Context) error {
		err := s.publish(ctx, records, base, mark)
		if !misplaced(err) {
			return err
		}
		return s.placed(ctx, base, len(records), mark)
	})
	var api *jetstream.APIError
	s.doubt = err != nil
	switch {
	case err == nil:
	case errors.Is(err, errFenced):
		s.fail(err)
		return s.failed
	case errors.As(err, &api) && full(api):
		return fmt.Errorf("%w: stream %s: %w", wal.ErrFull, s.Stream, err)
	case errors.As(err, &api) && api.ErrorCode == codeBatchTooLarge: // less is allowed than when it was opened
		s.maxBatch.Store(int64(limitOf(api))) // the next Write makes smaller units
		return fmt.Errorf("%w: stream %s: %w", wal.ErrTooLarge, s.Stream, err)
	default:
		return fmt.Errorf("jetstream: writing %d records to stream %s: %w", len(records), s.Stream, err)
	}
	s.next.Store(base + uint64(len(records)) + 1)
	for _, record := range records {
		s.size.Add(int64(len(record) + messageOverhead))
	}
	return nil
}

// messageOverhead is about what the server stores beside a record: subject, headers and frame, in
// bytes.
const messageOverhead = 100

// publish sends a unit and waits for the answer to its last message. Those before it are not
// answered: what is wrong with one of them the last one's answer says.
func (s *store) publish(ctx context.Context, records [][]byte, base uint64, mark string) error {
	batch := ""
	if len(records) > 1 {
		batch = nuid.Next()
	}
	for i, record := range records {
		m := &nats.Msg{Subject: s.subjectOf(record), Data: record, Header: nats.Header{}}
		if i == 0 {
			m.Header[markHeader] = []string{mark}
			m.Header[jetstream.ExpectedStreamHeader] = []string{s.Stream}
			m.Header[jetstream.ExpectedLastSeqHeader] = []string{strconv.FormatUint(base, 10)}
		}
		if batch != "" {
			m.Header[batchIDHeader] = []string{batch}
			m.Header[batchSeqHeader] = []string{strconv.Itoa(i + 1)}
		}
		if i < len(records)-1 {
			if err := s.nc.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		if batch != "" {
			m.Header[batchCommitHeader] = []string{"1"}
		}
		answer, err := s.nc.RequestMsgWithContext(ctx, m)
		if err != nil {
			return err
		}
		return s.acknowledged(answer.Data, base+uint64(len(records)))
	}
	return nil
}

func (s *store) subjectOf(record []byte) string {
	return s.subjects[s.Partition(record)%uint32(len(s.subjects))]
}

// acknowledged reads the server's answer, which must say that the stream now ends at last.
func (s *store) acknowledged(answer []byte, last uint64) error {
	var ack struct {
		Sequence uint64              `json:"seq"`
		Error    *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer, &ack); err != nil {
		return fmt.Errorf("the server's answer %.100q is no acknowledgement: %w", answer, err)
	}
	switch {
	case ack.Error != nil:
		return ack.Error
	case ack.Sequence != last:
		return fmt.Errorf("%w: it ends at %d instead of %d", errFenced, ack.Sequence, last)
	}
	return nil
}

// placed finds out whether a unit of n records that the server refused because the stream does not
// end where it should was stored by an earlier try.
func (s *store) placed(ctx context.Context, base uint64, n int, mark string) error {
	info, err := s.stream.Info(ctx)
	if err != nil {
		return err
	}
	last := info.State.LastSeq
	switch {
	case last == base:
		return errUnsettled
	case last < base:
		return fmt.Errorf("%w: it ends at %d, but records up to %d were acknowledged: the servers have lost data", errFenced, last, base)
	}
	message, err := s.stored(ctx, base+1)
	if err != nil {
		return err
	}
	if found := message.Header.Get(markHeader); found != mark {
		return fmt.Errorf("%w: record %d is there already, written by another (%q)", errFenced, base+1, found)
	}
	if last < base+uint64(n) {
		return fmt.Errorf("%w: %d records of %d are stored", errPartial, last-base, n)
	}
	return nil
}

func (s *store) fail(cause error) {
	s.failed = fmt.Errorf("%w until it is opened again: jetstream: %w", wal.ErrFailed, cause)
}
