package execution

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	gethmath "github.com/ethereum/go-ethereum/common/math"
)

// vector is a test of ethereum/tests, TransactionTests.
type vector struct {
	TxBytes string `json:"txbytes"`
	Result  map[string]struct {
		Sender       *common.Address         `json:"sender"`
		Hash         *common.Hash            `json:"hash"`
		IntrinsicGas gethmath.HexOrDecimal64 `json:"intrinsicGas"`
		Exception    string                  `json:"exception"`
	} `json:"result"`
}

// The files of testdata are copies from ethereum/tests. CHAIN_VECTORS names a folder with all of
// them, which has TransactionTests in it.
func TestTransactionVectors(t *testing.T) {
	runVectors(t, "testdata")
	if dir := os.Getenv("CHAIN_VECTORS"); dir != "" {
		runVectors(t, filepath.Join(dir, "TransactionTests"))
	}
}

func runVectors(t *testing.T, dir string) {
	var files []string
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if filepath.Ext(path) == ".json" {
			files = append(files, path)
		}
		return err
	}); err != nil || len(files) == 0 {
		t.Fatalf("%d files in %s: %v", len(files), dir, err)
	}
	pass, fail := 0, 0
	for _, file := range files {
		for name, v := range readVectors(t, file) {
			for on, want := range v.Result {
				got, says := "", ""
				config, err := ForkConfig(on, big.NewInt(1))
				if err != nil {
					t.Fatal(err)
				}
				raw, err := hexutil.Decode(v.TxBytes)
				if err == nil {
					tx, decoding := DecodeTransaction(raw)
					if err = decoding; err == nil {
						var verdict Verdict
						if verdict, err = NewJudge(config, new(big.Int), Merged(config), 0).Judge(tx); err == nil {
							got = line(verdict.Sender, tx.Hash(), verdict.IntrinsicGas)
						}
					}
				}
				if want.Exception == "" {
					says = line(*want.Sender, *want.Hash, uint64(want.IntrinsicGas))
				}
				if got != says {
					fail++
					t.Errorf("%s %s %s: %q (%v), want %q %s", filepath.Base(file), name, on, got, err, says, want.Exception)
				} else {
					pass++
				}
			}
		}
	}
	t.Logf("%s: %d files, %d passed, %d failed", dir, len(files), pass, fail)
}

func line(sender common.Address, hash common.Hash, gas uint64) string {
	return sender.Hex() + " " + hash.Hex() + " " + hexutil.EncodeUint64(gas)
}

func readVectors(t testing.TB, file string) (tests map[string]vector) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &tests)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// What decodes is canonical: encoded again it has the same bytes.
func FuzzDecodeTransaction(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		for _, v := range readVectors(f, file) {
			if raw, err := hexutil.Decode(v.TxBytes); err == nil {
				f.Add(raw)
			}
		}
	}
	var judges []Judge
	for _, name := range ForkNames() {
		config, err := ForkConfig(name, big.NewInt(1))
		if err != nil {
			f.Fatal(err)
		}
		judges = append(judges, NewJudge(config, new(big.Int), Merged(config), 0))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tx, err := DecodeTransaction(raw)
		if err != nil {
			return
		}
		for _, j := range judges {
			if v, err := j.Judge(tx); err == nil && v.IntrinsicGas > tx.Gas() {
				t.Errorf("%d of gas for %d", tx.Gas(), v.IntrinsicGas)
			}
		}
		again, err := tx.MarshalBinary()
		if err != nil || tx.BlobTxSidecar() == nil && !bytes.Equal(again, raw) {
			t.Errorf("%x decodes, and encodes as %x (%v)", raw, again, err)
		}
	})
}
