package raft

import (
	"errors"
	"fmt"
	"slices"

	etcd "go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"dyno/parts/wal"
)

// storage is the log of entries and the vote of a node, durable in a wal. Each record is a message
// of raft's own for its storage: vote, commit, entries, snapshot. What is needed is in memory, too.
type storage struct {
	*etcd.MemoryStorage
	wal  *wal.Log
	hard *pb.HardState
	gap  bool // of the records that were read, entries are missing
}

// trailing is the number of entries before a checkpoint that stay in memory, for followers that are
// a little behind.
const trailing = 1024

// openStorage reads a log, and begins it for a cluster of voters if it is new.
func openStorage(log *wal.Log, voters []uint64) (*storage, error) {
	voters = slices.Sorted(slices.Values(voters))
	s := &storage{MemoryStorage: etcd.NewMemoryStorage(), wal: log, hard: &pb.HardState{}}
	from, next := log.Bounds()
	if next == 1 { // all nodes begin alike, so that none needs a change of members
		one := proto.Uint64(1)
		first := &pb.Snapshot{Metadata: &pb.SnapshotMetadata{Index: one, Term: one, ConfState: &pb.ConfState{Voters: voters}}}
		if err := s.save(&pb.HardState{Term: one, Commit: one}, nil, first); err != nil {
			return nil, err
		}
	}
	err := log.Scan(from, func(seq uint64, record []byte) error {
		var m pb.Message
		if err := proto.Unmarshal(record, &m); err != nil {
			return fmt.Errorf("record %d of the log of raft: %w", seq, err)
		}
		return s.take(&m)
	})
	if err != nil {
		return nil, err
	}
	if s.gap {
		return nil, errors.New("the log of raft is damaged: entries are missing; import the chain of another node into new folders of all, with a new key for this one")
	}
	snapshot, _ := s.Snapshot()
	s.hard.Commit = proto.Uint64(max(s.hard.GetCommit(), snapshot.GetMetadata().GetIndex())) // a checkpoint may be younger
	if err := s.SetHardState(s.hard); err != nil {
		return nil, err
	}
	_, conf, err := s.InitialState()
	if err == nil && !slices.Equal(conf.GetVoters(), voters) {
		err = fmt.Errorf("the log of raft is of the nodes %x, and the peers that are configured make %x: the nodes of a chain do not change", conf.GetVoters(), voters)
	}
	return s, err
}

// take does in memory what a record says.
func (s *storage) take(m *pb.Message) error {
	if m.Term != nil {
		s.hard = &pb.HardState{Term: m.Term, Vote: proto.Uint64(m.GetVote()), Commit: proto.Uint64(m.GetCommit())}
	}
	if m.Snapshot != nil {
		if err := s.restore(m.Snapshot); err != nil {
			return err
		}
	}
	if len(m.Entries) == 0 {
		return nil
	}
	if last, _ := s.LastIndex(); m.Entries[0].GetIndex() > last+1 { // a crash while records before a checkpoint were dropped
		s.gap = true
		return nil
	}
	return s.MemoryStorage.Append(m.Entries)
}

// restore puts a snapshot in place of the entries that it has. Those behind it stay if the log has
// the entry at which it was made.
func (s *storage) restore(snapshot *pb.Snapshot) error {
	at := snapshot.GetMetadata()
	if term, err := s.Term(at.GetIndex()); err != nil || term != at.GetTerm() {
		s.gap = false
		return s.ApplySnapshot(snapshot)
	}
	_, err := s.CreateSnapshot(at.GetIndex(), at.GetConfState(), snapshot.GetData())
	if errors.Is(err, etcd.ErrSnapOutOfDate) {
		return nil
	}
	if first, _ := s.FirstIndex(); err == nil && at.GetIndex() >= first+trailing {
		err = s.Compact(at.GetIndex() - trailing)
	}
	return err
}

// save makes what raft has to remember durable.
func (s *storage) save(hard *pb.HardState, entries []*pb.Entry, snapshot *pb.Snapshot) error {
	m := &pb.Message{Entries: entries}
	if !etcd.IsEmptyHardState(hard) {
		m.Term, m.Vote, m.Commit = proto.Uint64(hard.GetTerm()), proto.Uint64(hard.GetVote()), proto.Uint64(hard.GetCommit())
	}
	if !etcd.IsEmptySnap(snapshot) {
		m.Snapshot = snapshot
	}
	if err := s.append(m); err != nil {
		return err
	}
	return s.take(m)
}

func (s *storage) append(m *pb.Message) error {
	m.Type = pb.MsgStorageAppend.Enum()
	record, err := proto.Marshal(m)
	if err == nil {
		_, err = s.wal.Append([][]byte{record}, nil)
	}
	if err != nil {
		err = fmt.Errorf("the log of raft: %w", err)
	}
	return err
}

// checkpoint puts a snapshot at an entry that was applied, and drops the records before it. A crash
// at any moment leaves the entries after it: they are appended again before they are dropped.
func (s *storage) checkpoint(index uint64, data []byte) error {
	_, conf, err := s.InitialState()
	if err != nil {
		return err
	}
	term, err := s.Term(index)
	if err != nil {
		return fmt.Errorf("a checkpoint at entry %d: %w", index, err)
	}
	if err := s.wal.Roll(); err != nil { // so that all records before can be removed
		return err
	}
	_, begin := s.wal.Bounds()
	at := &pb.SnapshotMetadata{Index: &index, Term: &term, ConfState: conf}
	if err := s.save(s.hard, nil, &pb.Snapshot{Data: data, Metadata: at}); err != nil {
		return err
	}
	last, _ := s.LastIndex()
	for next := index + 1; next <= last; {
		entries, err := s.Entries(next, last+1, maxEntryBytes)
		if err == nil {
			err = s.append(&pb.Message{Entries: entries})
		}
		if err != nil {
			return err
		}
		next += uint64(len(entries))
	}
	return s.wal.Trim(begin)
}
