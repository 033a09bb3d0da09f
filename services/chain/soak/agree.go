package soak

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/ethereum/go-ethereum/common"

	"dyno/parts/servicetest"
)

// prove checks what the nodes of a network have in the end, and stops them.
func (s *several) prove(p Program) {
	t := s.t
	s.Seen += len(s.load.seen)
	for _, m := range s.live() {
		s.mined(m)
	}
	servicetest.Await(t, func() string { return fmt.Sprint("all nodes have one head, and nothing waits: ", s.quiet()) }, func() bool { return s.quiet() == nil })
	chain := s.chain(s.nodes[0])
	for _, m := range s.live()[1:] {
		for n, b := range s.chain(m) {
			if n >= len(chain) || b.Hash != chain[n].Hash {
				t.Fatalf("block %d of %v is %x, and that of node 0 is another", n, m, b.Hash)
			}
		}
	}
	times := map[common.Hash]int{}
	all := 0
	for _, b := range chain {
		all += len(b.Transactions)
		for _, hash := range b.Transactions {
			times[hash]++
		}
	}
	for _, hash := range s.load.hashes {
		if times[hash] != 1 {
			t.Fatalf("the acknowledged transaction %x is in %d blocks", hash, times[hash])
		}
	}
	if len(times) != all {
		t.Fatalf("the blocks have %d transactions, of which %d are different", all, len(times))
	}
	s.Acknowledged += len(s.load.hashes)
	s.Unanswered += all - len(s.load.hashes)
	s.Blocks += len(chain) - 1
	for _, m := range s.live() {
		m.stop(t)
	}
	var root common.Hash
	for _, m := range s.live() {
		is := s.checked(p, m, len(chain)-1)
		if root != (common.Hash{}) && is != root {
			t.Fatalf("%v has the state %x, and another node %x", m, is, root)
		}
		root = is
	}
	file := filepath.Join(t.TempDir(), "blocks.rlp")
	if out, err := exec.Command(p.Path, "export", "--data", s.nodes[s.random.IntN(len(s.live()))].data, file).CombinedOutput(); err != nil {
		t.Fatalf("export: %s, %v", out, err)
	}
	if theirs := executed(t, file); theirs != root {
		t.Fatalf("go-ethereum has the root %x, and the check %x", theirs, root)
	}
}

// mined waits until a node has the receipts of all that was acknowledged.
func (s *several) mined(m *member) {
	for all := s.load.hashes; len(all) > 0; all = all[min(mostCalls, len(all)):] {
		part, late := all[:min(mostCalls, len(all))], 0
		var receipts []string
		servicetest.Await(s.t, func() string { return fmt.Sprintf("%d receipts of %v, such as %x", late, m, part) }, func() bool {
			var err error
			late = 0
			receipts, err = m.receipts(part)
			for _, r := range receipts {
				if r == "null" {
					late++
				}
			}
			return err == nil && late == 0
		})
		for i, r := range receipts {
			s.load.same(s.t, part[i], r)
		}
	}
}

// quiet says why the nodes are not at rest.
func (s *several) quiet() error {
	first, err := s.nodes[0].head()
	for _, m := range s.live() {
		head, failed := m.head()
		waiting, worse := m.waiting()
		switch {
		case err != nil || failed != nil || worse != nil:
			return fmt.Errorf("%v: %w, %w, %w", m, err, failed, worse)
		case head != first || waiting > 0:
			return fmt.Errorf("%v has %d blocks instead of %d, and %d transactions wait there", m, head, first, waiting)
		}
	}
	return nil
}

// chain reads all blocks of a node.
func (s *several) chain(m *member) (all []block) {
	s.t.Helper()
	head, err := m.head()
	for err == nil && len(all) <= int(head) {
		var some []block
		some, err = m.blocks(uint64(len(all)), min(head, uint64(len(all)+499)))
		all = append(all, some...)
	}
	if err != nil {
		s.t.Fatalf("%v: %v", m, err)
	}
	return all
}

// checked runs the check of a stopped node's folder, and returns the root of its state.
func (s *several) checked(p Program, m *member, blocks int) common.Hash {
	s.t.Helper()
	out, err := exec.Command(p.Path, "check", "--data", m.data, "--json").Output()
	var r struct {
		OK         bool
		Blocks     int
		StateRoot  common.Hash `json:"state_root"`
		Recomputed common.Hash `json:"recomputed_root"`
	}
	if err != nil || json.Unmarshal(out, &r) != nil || !r.OK || r.StateRoot != r.Recomputed || r.Blocks != blocks {
		s.t.Fatalf("the check of %v, which has %d blocks: %s, %v", m, blocks, out, err)
	}
	return r.StateRoot
}
