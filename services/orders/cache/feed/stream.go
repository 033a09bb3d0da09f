package feed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"dyno/services/orders/cache/pgoutput"

	"github.com/jackc/pgx/v5/pgproto3"
)

// The messages of a replication stream are those of "Streaming Replication Protocol" in PostgreSQL's manual.

// streamed is one that came: a change, or (a keepalive) how far the server has looked.
type streamed struct {
	change []byte       // what pgoutput wrote
	end    pgoutput.LSN // all before it has been sent
	reply  bool         // the server wants a word
}

func parseStream(data []byte) (streamed, error) {
	const changeHeader, keepalive = 1 + 8 + 8 + 8, 1 + 8 + 8 + 1
	switch {
	case len(data) == 0:
		return streamed{}, errors.New("an empty message of the stream")
	case data[0] == 'w' && len(data) > changeHeader:
		return streamed{change: data[changeHeader:]}, nil
	case data[0] == 'k' && len(data) == keepalive:
		return streamed{end: pgoutput.LSN(binary.BigEndian.Uint64(data[1:])), reply: data[keepalive-1] != 0}, nil
	}
	return streamed{}, fmt.Errorf("a message of the stream of kind %q with %d bytes", data[0], len(data))
}

const (
	// owed is how much of the log may be kept by the server because it does not know that it was heard: a segment.
	owed = 16 << 20

	// patience is how long a word to the server may take to be sent; its socket takes thousands of them.
	patience = 5 * time.Second
)

func (f *Feed) owes() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at-f.told >= owed
}

// Ask has the server say how far it has looked, as soon as it can: Moved will tell.
func (f *Feed) Ask() error { return f.tell(true) }

// tell says how far the feed has come, so that the server need not keep what is before it.
func (f *Feed) tell(ask bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := uint64(f.at)
	status := make([]byte, 0, 34)
	status = append(status, 'r')
	for range 3 { // written, flushed, applied
		status = binary.BigEndian.AppendUint64(status, at)
	}
	epoch := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	status = binary.BigEndian.AppendUint64(status, uint64(time.Since(epoch).Microseconds()))
	if ask {
		status = append(status, 1)
	} else {
		status = append(status, 0)
	}
	message, err := (&pgproto3.CopyData{Data: status}).Encode(nil)
	if err != nil {
		return err
	}
	if err := f.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := f.conn.Write(message); err != nil {
		return fmt.Errorf("telling the server how far the feed is: %w", err)
	}
	f.told = pgoutput.LSN(at)
	return nil
}

// Close hangs up. The server drops the slot.
func (f *Feed) Close() error { return f.conn.Close() }
