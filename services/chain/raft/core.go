package raft

import (
	"errors"
	"fmt"
	"log"
	"runtime/debug"

	etcd "go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"dyno/services/chain/peers"
)

// Bounds of messages and of what is in progress, in bytes.
const (
	maxEntryBytes  = 1 << 20  // of a group of proposals, and of the entries of a message
	maxInflight    = 32 << 20 // on their way to a follower
	maxUncommitted = 64 << 20 // of a leader that has no majority
	maxItems       = 64 << 10 // of a message or group
)

// Numbers of ticks.
const (
	electionTicks  = 10
	heartbeatTicks = 1
)

// core is raft without goroutines and time: what it does depends on its calls alone.
type core struct {
	raw       *etcd.RawNode
	log       *storage
	unbatched bool
}

// output is what must be applied.
type output struct {
	restore *pb.Snapshot // first; nil: none
	entries []*pb.Entry  // then
	leads   uint64       // the term in which this node leads; 0: it does not
}

func (o output) size() (bytes int) {
	for _, e := range o.entries {
		bytes += len(e.GetData())
	}
	return bytes
}

func newCore(o Options, s *storage, logger *log.Logger) (*core, error) {
	snapshot, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	raw, err := etcd.NewRawNode(&etcd.Config{
		ID: o.ID, ElectionTick: electionTicks, HeartbeatTick: heartbeatTicks, Storage: s, Applied: snapshot.GetMetadata().GetIndex(),
		MaxSizePerMsg: maxEntryBytes, MaxInflightMsgs: 256, MaxInflightBytes: maxInflight, MaxUncommittedEntriesSize: maxUncommitted,
		MaxCommittedSizePerReady: maxInflight, CheckQuorum: true, PreVote: true, DisableProposalForwarding: true,
		Logger: &etcd.DefaultLogger{Logger: logger},
	})
	return &core{raw: raw, log: s, unbatched: o.Unbatched}, err
}

// advance does what must be done until there is no more: it makes durable what must be before
// others hear of it.
func (c *core) advance(send func([]*pb.Message)) (out output, err error) {
	defer func() {
		if v := recover(); v != nil { // raft finds that its own state, or a message, contradicts itself
			err = fmt.Errorf("raft stops, since its state would contradict itself: %v\n%s", v, debug.Stack())
		}
	}()
	for c.raw.HasReady() {
		rd := c.raw.Ready()
		leads := c.leads()
		if leads { // a leader's own copy is one of many: others may have theirs first
			send(rd.Messages)
		}
		if rd.MustSync || !etcd.IsEmptySnap(rd.Snapshot) {
			if err := c.log.save(rd.HardState, rd.Entries, rd.Snapshot); err != nil {
				return out, err
			}
		}
		if !leads {
			send(rd.Messages)
		}
		if !etcd.IsEmptySnap(rd.Snapshot) {
			out = output{restore: rd.Snapshot}
		}
		out.entries = append(out.entries, rd.CommittedEntries...)
		c.raw.Advance(rd)
		for _, m := range rd.Messages {
			if m.GetType() == pb.MsgSnap { // if it is lost, the follower's answer to the next entry says so
				c.raw.ReportSnapshot(m.GetTo(), etcd.SnapshotFinish)
			}
		}
	}
	return out, nil
}

func (c *core) leads() bool { return c.raw.BasicStatus().RaftState == etcd.StateLeader }

// frames puts messages into bodies of notes, those for one node together.
func (c *core) frames(messages []*pb.Message, send func(to uint64, body []byte)) error {
	bodies := map[uint64][]byte{}
	var order []uint64
	for _, m := range messages {
		b, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		to := m.GetTo()
		if c.unbatched {
			send(to, peers.AppendItems(nil, b))
			continue
		}
		if len(bodies[to])+len(b) > maxInflight/4 {
			send(to, bodies[to])
			bodies[to] = nil
		}
		if bodies[to] == nil {
			order = append(order, to)
		}
		bodies[to] = peers.AppendItems(bodies[to], b)
	}
	for _, to := range order {
		if body := bodies[to]; body != nil {
			send(to, body)
			delete(bodies, to)
		}
	}
	return nil
}

// parse reads what frames of another node wrote.
func parse(from uint64, body []byte) ([]*pb.Message, error) {
	items, err := peers.Items(body, maxItems)
	if err != nil {
		return nil, err
	}
	messages := make([]*pb.Message, 0, len(items))
	for _, item := range items {
		m := new(pb.Message)
		if err := proto.Unmarshal(item, m); err != nil {
			return nil, fmt.Errorf("a message of raft: %w", err)
		}
		switch m.GetType() {
		case pb.MsgApp, pb.MsgAppResp, pb.MsgVote, pb.MsgVoteResp, pb.MsgHeartbeat, pb.MsgHeartbeatResp, pb.MsgPreVote, pb.MsgPreVoteResp:
		case pb.MsgSnap:
			if etcd.IsEmptySnap(m.Snapshot) {
				return nil, errors.New("a snapshot of raft is empty")
			}
		default:
			return nil, fmt.Errorf("a message of raft of type %v, which nodes do not send", m.GetType())
		}
		if m.GetFrom() != from {
			return nil, fmt.Errorf("a message of raft in the name of %x", m.GetFrom())
		}
		messages = append(messages, m)
	}
	return messages, nil
}
