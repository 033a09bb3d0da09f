package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dyno/parts/wal"
)

const (
	// pageRecords and pageBytes bound one request of a scan, and so its memory.
	pageRecords = 500
	pageBytes   = 4 << 20
	// firstPage is how many records it asks for at first: many a scan is for one.
	firstPage = 8
)

// errBehind says that a replica does not yet have what the stream has.
var errBehind = errors.New("the server that answered is behind the others")

// Scan reads pages from whichever server has a replica. One that is behind is asked again.
func (s *store) Scan(from uint64, visit func(seq uint64, record []byte) error) error {
	done, err := s.begin()
	if err != nil {
		return err
	}
	defer done()
	if first := s.first.Load(); from < first {
		return &wal.TrimmedError{First: first}
	}
	for most := firstPage; from < s.next.Load(); most = pageRecords {
		page, err := s.page(from, most)
		if err != nil {
			return err
		}
		for _, m := range page {
			if m.seq >= s.next.Load() {
				return nil // not acknowledged yet, or not by us
			}
			if m.seq != from {
				return &wal.DamageError{From: from, Next: m.seq, Where: "missing in stream " + s.Stream}
			}
			switch err := visit(m.seq, m.Data); {
			case errors.Is(err, wal.ErrStop):
				return nil
			case err != nil:
				return err
			}
			from++
		}
	}
	return nil
}

// message is a stored message and its number.
type message struct {
	*nats.Msg
	seq uint64
}

// page returns at most most records from a number on, and at least one. The first may be later than
// from if a purge or damage removed records.
func (s *store) page(from uint64, most int) (page []message, err error) {
	err = s.persist(s.ctx, func(ctx context.Context) error {
		page, err = s.read(ctx, from, most)
		if err == nil && len(page) == 0 {
			return errBehind
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("jetstream: reading stream %s from %d: %w", s.Stream, from, err)
	}
	if first := s.first.Load(); from < first {
		return nil, &wal.TrimmedError{First: first}
	}
	return page, nil
}

// get is a request for stored messages; see ADR-31 of the NATS architecture records.
type get struct {
	Seq      uint64 `json:"seq"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// read asks one server for a page, which ends with a message of status 204, or 404 when there is
// nothing.
func (s *store) read(ctx context.Context, from uint64, most int) ([]message, error) {
	request, err := json.Marshal(get{from, most, pageBytes})
	if err != nil {
		return nil, err
	}
	inbox := s.nc.NewInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	if err := s.nc.PublishRequest("$JS.API.DIRECT.GET."+s.Stream, inbox, request); err != nil {
		return nil, err
	}
	var page []message
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		switch status := m.Header.Get("Status"); status {
		case "204", "404":
			return page, nil
		case "503":
			return nil, nats.ErrNoResponders
		case "":
		default:
			return nil, fmt.Errorf("the server answered %s %s", status, m.Header.Get("Description"))
		}
		seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil || seq < from {
			return nil, fmt.Errorf("the server sent number %.30q after %d was asked for", m.Header.Get(jetstream.SequenceHeader), from)
		}
		page = append(page, message{m, seq})
	}
}

// stored asks the stream's leader, which is never behind, for one message.
func (s *store) stored(ctx context.Context, seq uint64) (*jetstream.RawStreamMsg, error) {
	request, err := json.Marshal(get{Seq: seq})
	if err != nil {
		return nil, err
	}
	m, err := s.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+s.Stream, request)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Message struct {
			Header []byte `json:"hdrs"`
		} `json:"message"`
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return nil, fmt.Errorf("the server's answer %.100q is no message: %w", m.Data, err)
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	header, err := nats.DecodeHeadersMsg(answer.Message.Header)
	return &jetstream.RawStreamMsg{Header: header}, err
}
