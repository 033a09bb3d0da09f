package soak

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus"
	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/genesis"
)

// provesItself runs the check and the export of the stopped node's folder, and go-ethereum.
func (k *killed) provesItself(p Program) {
	t := k.c.T
	out, err := exec.Command(p.Path, "check", "--data", k.c.Env.Data, "--json").Output()
	var r struct {
		OK           bool
		Blocks       int
		Transactions int
		StateRoot    common.Hash `json:"state_root"`
		Recomputed   common.Hash `json:"recomputed_root"`
	}
	if err != nil || json.Unmarshal(out, &r) != nil || !r.OK || r.Transactions < len(k.receipts) || r.StateRoot != r.Recomputed {
		t.Fatalf("check: %s, %v", out, err)
	}
	k.Unanswered, k.Blocks = r.Transactions-len(k.receipts)-len(k.accounts), r.Blocks
	file := filepath.Join(t.TempDir(), "blocks.rlp")
	if out, err := exec.Command(p.Path, "export", "--data", k.c.Env.Data, file).CombinedOutput(); err != nil {
		t.Fatalf("export: %s, %v", out, err)
	}
	if root := executed(t, file); root != r.StateRoot {
		t.Fatalf("go-ethereum has the root %x, and the check %x", root, r.StateRoot)
	}
}

// namesDamage changes a bit of the stopped node's journal.
func (k *killed) namesDamage(p Program) {
	t := k.c.T
	files, err := filepath.Glob(filepath.Join(k.c.Env.Data, "journal", "*.seg"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)*2/3] ^= 1
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"check"}, {"serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0"}} {
		out, err := exec.Command(p.Path, append(command, "--data="+k.c.Env.Data)...).CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte(filepath.Base(files[0]))) || !bytes.Contains(out, []byte("damaged")) {
			t.Errorf("%s does not name the damage: %s, %v", command[0], out, err)
		}
	}
}

// executed has go-ethereum execute the blocks of a file, and returns the root of the last.
func executed(t testing.TB, path string) common.Hash {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	theirs, err := core.NewBlockChain(rawdb.NewMemoryDatabase(), genesis.Development().Genesis, patient{beacon.New(ethash.NewFaker())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Stop()
	for stream := rlp.NewStream(file, 0); ; {
		block := new(types.Block)
		if err := stream.Decode(block); err == io.EOF {
			return theirs.CurrentBlock().Root
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.InsertChain(types.Blocks{block}); err != nil {
			t.Fatalf("go-ethereum refuses block %d: %v", block.Number(), err)
		}
		if theirs.CurrentBlock().Hash() != block.Hash() {
			t.Fatalf("go-ethereum has the head %d after block %d", theirs.CurrentBlock().Number, block.Number())
		}
	}
}

// patient is go-ethereum's engine, except that a block may have its parent's timestamp.
type patient struct{ *beacon.Beacon }

func (p patient) VerifyHeader(chain consensus.ChainHeaderReader, header *types.Header) error {
	parent, seen := chain.GetHeader(header.ParentHash, header.Number.Uint64()-1), types.CopyHeader(header)
	if parent != nil && parent.Time == header.Time {
		seen.Time++
	}
	return p.Beacon.VerifyHeader(chain, seen)
}

func (p patient) VerifyHeaders(chain consensus.ChainHeaderReader, headers []*types.Header) (chan<- struct{}, <-chan error) {
	results := make(chan error, len(headers))
	for _, header := range headers {
		results <- p.VerifyHeader(chain, header)
	}
	return make(chan struct{}), results
}
