package record

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/pack"
	"dyno/services/ledger/xrpl/xrpltest"
)

// A damaged record is an error or another record, and never a panic.
func FuzzParseRecords(f *testing.F) {
	chain := xrpltest.Chain(1, 5, 1, 3)
	var codec *Codec
	for compression := range encodings {
		var err error
		if codec, err = NewCodec(compression); err != nil {
			f.Fatal(err)
		}
		defer codec.Close()
		f.Add(codec.FrameLedger(nil, "http://a", chain[0].Hash, chain[0], new([]byte))[flat.HeaderSize:])
	}
	zstd := slices.Concat([]byte{KindLedger, 0, encodingZstd}, chain[0].Hash[:], chain[0].Header)
	zstd = binary.AppendUvarint(zstd, uint64(len(chain[0].Transactions)))
	zstd = binary.AppendUvarint(zstd, uint64(bodySize(chain[0].Transactions)))
	f.Add(append(zstd, codec.Zstd(pack.AppendTransactions(nil, chain[0].Transactions))...))
	f.Add(FrameProved([]byte(`{"accounts":"on"}`), []Entry{{5, chain[0].Hash, flat.Ref{File: 1, Offset: 2, Size: 3}}})[flat.HeaderSize:])
	f.Fuzz(func(t *testing.T, value []byte) {
		if len(value) > 0 && value[0] == KindProved {
			_, entries, err := ParseProved(value)
			if err != nil && !errors.Is(err, flat.ErrDamaged) || len(entries) > len(value)/entrySize {
				t.Fatal(entries, err)
			}
		}
		_, r, err := ParseLedger(value)
		if err != nil {
			return
		}
		var l xrpl.Ledger
		if err := codec.Read(r, &l); err != nil {
			if !errors.Is(err, flat.ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if len(l.Header) != xrpl.HeaderSize || len(l.Transactions) != r.Transactions {
			t.Fatalf("%d bytes of header, %d of %d transactions", len(l.Header), len(l.Transactions), r.Transactions)
		}
	})
}

// BenchmarkCodec compresses real ledgers of 20 KB and more, one by one, as they are stored with s2.
func BenchmarkCodec(b *testing.B) {
	var bodies [][]byte
	total := 0
	for _, l := range xrpltest.Ledgers(b) {
		if body := pack.AppendTransactions(nil, l.Transactions); len(body) >= 20_000 {
			bodies = append(bodies, body)
			total += len(body)
		}
	}
	b.SetBytes(int64(total))
	var value []byte
	left := 0
	for b.Loop() {
		left = 0
		for _, body := range bodies {
			value = compress(value[:0], body)
			left += len(value)
		}
	}
	b.ReportMetric(100*float64(left)/float64(total), "%left")
}
