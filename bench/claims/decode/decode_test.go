package decode

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/minio/simdjson-go"
	"github.com/tmthrgd/go-hex"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

// BenchmarkDecode reads the largest real ledger of 90 transactions (187 KB) with the two decoders
// and with two peers, which get the same hex decoding as scan and need not judge anything; scan-anew
// has no memory of an answer before. answer is what every decoder reads.
type answer struct {
	header       []byte
	transactions []xrpl.Transaction
	bytes        []byte // of both
}

func (a *answer) reset() {
	*a = answer{transactions: a.transactions[:0], bytes: a.bytes[:0]}
}

// unhex returns the bytes that digits stand for.
func (a *answer) unhex(digits []byte) ([]byte, error) {
	from, n := len(a.bytes), hex.DecodedLen(len(digits))
	a.bytes = slices.Grow(a.bytes, n)[:from+n]
	_, err := hex.Decode(a.bytes[from:], digits)
	return a.bytes[from:], err
}

// own returns a decoder of ledgersync's.
func own(d response.Decoder) func([]byte, *answer) error {
	var a response.Answer
	return func(text []byte, into *answer) error {
		err := d.Decode(text, &a)
		into.header, into.transactions = a.Header, a.Transactions
		return err
	}
}

// anew returns a decoder of ledgersync's that allocates for each answer.
func anew(d response.Decoder) func([]byte, *answer) error {
	return func(text []byte, into *answer) error { return own(d)(text, into) }
}

func BenchmarkDecode(b *testing.B) {
	text := ledgerOf90(b)
	for _, tt := range []struct {
		name   string
		decode func([]byte, *answer) error
	}{
		{"json", own(response.Decoders()["json"])}, {"jsonv2", jsonV2}, {"simdjson", simd()}, {"scan", own(response.Decoders()["scan"])},
		{"scan-anew", anew(response.Decoders()["scan"])},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var a answer
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			begin := cpu(b)
			for b.Loop() {
				if err := tt.decode(text, &a); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu(b)-begin)/float64(b.N), "cpu-ns/op")
			if len(a.transactions) != 90 || len(a.header) != xrpl.HeaderSize {
				b.Errorf("%d transactions", len(a.transactions))
			}
		})
	}
}

// ledgerOf90 returns a simulated server's answer with 90 transactions.
func ledgerOf90(b *testing.B) []byte {
	chain := xrpltest.Chain(1, 1, 1, 90)
	type tx struct {
		Blob string `json:"tx_blob"`
		Meta string `json:"meta"`
	}
	var txs []tx
	for _, t := range chain[0].Transactions {
		txs = append(txs, tx{strings.ToUpper(hex.EncodeToString(t.Blob)), strings.ToUpper(hex.EncodeToString(t.Meta))})
	}
	text, err := json.Marshal(map[string]any{"result": map[string]any{
		"ledger":       map[string]any{"closed": true, "ledger_data": strings.ToUpper(hex.EncodeToString(chain[0].Header)), "transactions": txs},
		"ledger_index": chain[0].Index, "ledger_hash": strings.ToUpper(hex.EncodeToString(chain[0].Hash[:])), "validated": true, "status": "success",
	}})
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// cpu is what the process has used: with neighbours, time says little.
func cpu(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// jsonV2 is go-json-experiment's into structs; hex fields stay the bytes of the answer until they
// are decoded.
func jsonV2(text []byte, into *answer) error {
	into.reset()
	var a struct {
		Result struct {
			Ledger struct {
				Data         jsontext.Value `json:"ledger_data"`
				Transactions []struct {
					Blob jsontext.Value `json:"tx_blob"`
					Meta jsontext.Value `json:"meta"`
				} `json:"transactions"`
			} `json:"ledger"`
			Index     uint32 `json:"ledger_index"`
			Hash      string `json:"ledger_hash"`
			Validated bool   `json:"validated"`
		} `json:"result"`
	}
	if err := jsonv2.Unmarshal(text, &a); err != nil {
		return err
	}
	into.header, _ = into.unhex(bytes.Trim(a.Result.Ledger.Data, `"`))
	for _, tx := range a.Result.Ledger.Transactions {
		blob, _ := into.unhex(bytes.Trim(tx.Blob, `"`))
		meta, _ := into.unhex(bytes.Trim(tx.Meta, `"`))
		into.transactions = append(into.transactions, xrpl.Transaction{Blob: blob, Meta: meta})
	}
	return nil
}

// simd is simdjson-go, without copies of strings, with its tape used again.
func simd() func([]byte, *answer) error {
	var parsed *simdjson.ParsedJson
	var root, list, item simdjson.Iter
	var element simdjson.Element
	var object simdjson.Object
	return func(text []byte, into *answer) error {
		into.reset()
		var err error
		if parsed, err = simdjson.Parse(text, parsed, simdjson.WithCopyStrings(false)); err != nil {
			return err
		}
		i := parsed.Iter()
		i.AdvanceInto()
		if _, _, err = i.Root(&root); err != nil {
			return err
		}
		data, err := root.FindElement(&element, "result", "ledger", "ledger_data")
		if err != nil {
			return err
		}
		digits, _ := data.Iter.StringBytes()
		into.header, _ = into.unhex(digits)
		found, err := root.FindElement(&element, "result", "ledger", "transactions")
		if err != nil {
			return err
		}
		array, err := found.Iter.Array(nil)
		if err != nil {
			return err
		}
		list = array.Iter()
		for list.Advance() == simdjson.TypeObject {
			o, err := list.Object(&object)
			if err != nil {
				return err
			}
			var tx xrpl.Transaction
			for {
				name, t, err := o.NextElementBytes(&item)
				if err != nil || t == simdjson.TypeNone {
					break
				}
				digits, _ := item.StringBytes()
				switch string(name) {
				case "tx_blob":
					tx.Blob, _ = into.unhex(digits)
				case "meta":
					tx.Meta, _ = into.unhex(digits)
				}
			}
			into.transactions = append(into.transactions, tx)
		}
		return nil
	}
}
