package rippled

import (
	"bytes"
	"syscall"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/minio/simdjson-go"

	"dyno/parts/xrpl"
)

// BenchmarkDecode reads the largest real ledger of 90 transactions (187 KB) with the two decoders and with two peers,
// which get the same hex decoding as scan and need not judge anything.
func BenchmarkDecode(b *testing.B) {
	var answer []byte
	for _, line := range realLedgers(b) {
		var a Answer
		if err := (scanDecoder{}).Decode(line, &a); err == nil && len(a.Transactions) == 90 {
			answer = line
		}
	}
	for _, tt := range []struct {
		name   string
		decode func([]byte, *Answer) error
	}{
		{"json", jsonDecoder{}.Decode}, {"jsonv2", jsonV2}, {"simdjson", simd()}, {"scan", scanDecoder{}.Decode},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var a Answer
			b.SetBytes(int64(len(answer)))
			b.ReportAllocs()
			begin := cpu(b)
			for b.Loop() {
				if err := tt.decode(answer, &a); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu(b)-begin)/float64(b.N), "cpu-ns/op")
			if len(a.Transactions) != 90 || len(a.Header) != xrpl.HeaderSize {
				b.Errorf("%d transactions", len(a.Transactions))
			}
		})
	}
}

// cpu is what the process has used: with neighbours, time says little.
func cpu(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// jsonV2 is go-json-experiment's into structs; hex fields stay the bytes of the answer until they are decoded.
func jsonV2(answer []byte, into *Answer) error {
	if err := into.reset(answer); err != nil {
		return err
	}
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
	if err := jsonv2.Unmarshal(answer, &a); err != nil {
		return err
	}
	into.Header, _ = into.unhex(bytes.Trim(a.Result.Ledger.Data, `"`))
	for _, tx := range a.Result.Ledger.Transactions {
		blob, _ := into.unhex(bytes.Trim(tx.Blob, `"`))
		meta, _ := into.unhex(bytes.Trim(tx.Meta, `"`))
		into.Transactions = append(into.Transactions, xrpl.Transaction{Blob: blob, Meta: meta})
	}
	return nil
}

// simd is simdjson-go, without copies of strings, with its tape used again.
func simd() func([]byte, *Answer) error {
	var parsed *simdjson.ParsedJson
	var root, list, item simdjson.Iter
	var element simdjson.Element
	var object simdjson.Object
	return func(answer []byte, into *Answer) error {
		if err := into.reset(answer); err != nil {
			return err
		}
		var err error
		if parsed, err = simdjson.Parse(answer, parsed, simdjson.WithCopyStrings(false)); err != nil {
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
		into.Header, _ = into.unhex(digits)
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
			into.Transactions = append(into.Transactions, tx)
		}
		return nil
	}
}
