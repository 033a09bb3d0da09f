package peers

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"
)

// Kind says for which part of a node a message is.
type Kind byte

// The kinds.
const (
	Transactions Kind = 1 + iota // gossip
	Head
	Blocks // requests of block sync
	Raft   // consensus
	Submit // requests to the node that seals
	Hashes // requests to it, for those of its blocks
)

// form says how a message is read.
type form byte

const (
	heartbeat form = iota // nothing: the sender is alive
	hello                 // RLP of greeting; the first message of each end
	note                  // kind, body
	request               // kind, id, body
	answer                // id, body
	refusal               // id, text
)

// message is one WebSocket message, which is binary.
type message struct {
	form form
	kind Kind
	id   uint64 // of a request, which its answer repeats
	body []byte // valid as long as the message's bytes are
}

var errMalformed = errors.New("a message is malformed")

// append adds the bytes of a message to b.
func (m message) append(b []byte) []byte {
	b = append(b, byte(m.form))
	if m.form == note || m.form == request {
		b = append(b, byte(m.kind))
	}
	if m.form == request || m.form == answer || m.form == refusal {
		b = binary.BigEndian.AppendUint64(b, m.id)
	}
	return append(b, m.body...)
}

// parse reads a message, whose body is part of b.
func parse(b []byte) (m message, err error) {
	if len(b) == 0 {
		return m, fmt.Errorf("%w: it is empty", errMalformed)
	}
	m.form, b = form(b[0]), b[1:]
	if m.form > refusal || m.form == heartbeat && len(b) > 0 {
		return m, fmt.Errorf("%w: form %d with %d bytes", errMalformed, m.form, len(b))
	}
	if m.form == note || m.form == request {
		if len(b) == 0 {
			return m, fmt.Errorf("%w: it has no kind", errMalformed)
		}
		m.kind, b = Kind(b[0]), b[1:]
	}
	if m.form == request || m.form == answer || m.form == refusal {
		if len(b) < 8 {
			return m, fmt.Errorf("%w: its id is cut off", errMalformed)
		}
		m.id, b = binary.BigEndian.Uint64(b), b[8:]
	}
	m.body = b
	return m, nil
}

// version is that of the protocol. Nodes of different versions do not talk.
const version = 1

// greeting is the first message, by which nodes find out that they have the same chain.
type greeting struct {
	Version uint64
	Chain   uint64 // its id
	Genesis common.Hash
}

func (g greeting) bytes() []byte {
	b, err := rlp.EncodeToBytes(g)
	if err != nil {
		panic(err) // it has two numbers and a hash
	}
	return message{form: hello, body: b}.append(nil)
}

// check says why a peer's first message does not fit to this node's.
func (g greeting) check(first []byte) error {
	m, err := parse(first)
	if err != nil {
		return err
	}
	if m.form != hello {
		return fmt.Errorf("%w: the first one is no greeting", errMalformed)
	}
	var theirs greeting
	if err := rlp.DecodeBytes(m.body, &theirs); err != nil {
		return fmt.Errorf("%w: its greeting: %w", errMalformed, err)
	}
	switch {
	case theirs.Version != g.Version:
		return fmt.Errorf("it speaks version %d of the protocol, and this node %d: run the same version on both", theirs.Version, g.Version)
	case theirs.Chain != g.Chain:
		return fmt.Errorf("its chain has the id %d, and this node's %d", theirs.Chain, g.Chain)
	case theirs.Genesis != g.Genesis:
		return fmt.Errorf("its chain has the genesis block %x, and this node's %x", theirs.Genesis, g.Genesis)
	}
	return nil
}

// AppendItems appends byte strings to b, each behind its length as a varint.
func AppendItems(b []byte, items ...[]byte) []byte {
	for _, item := range items {
		b = append(binary.AppendUvarint(b, uint64(len(item))), item...)
	}
	return b
}

// Items reads what AppendItems wrote, at most a number of them. They are parts of b.
func Items(b []byte, most int) (items [][]byte, err error) {
	for len(b) > 0 {
		if len(items) == most {
			return nil, fmt.Errorf("%w: more than %d items", errMalformed, most)
		}
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, fmt.Errorf("%w: item %d is cut off", errMalformed, len(items))
		}
		end := n + int(size)
		items, b = append(items, b[n:end:end]), b[end:]
	}
	return items, nil
}
