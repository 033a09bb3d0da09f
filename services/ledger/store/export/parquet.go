package export

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Row is a transaction in Parquet.
type Row struct {
	LedgerIndex uint32    `parquet:"ledger_index,delta"`
	CloseTime   time.Time `parquet:"close_time,timestamp(millisecond),delta"` // of the ledger, UTC
	// Place among the ledger's transactions in the order of application, from 0.
	Position uint32 `parquet:"position"`
	Hash     string `parquet:"hash"` // transaction id in upper-case hex
	// Sender's address; none if the transaction cannot be read.
	Account string `parquet:"account,optional"`
	Type    string `parquet:"type,optional,dict"` // as in the JSON API, or a number if unknown
	Blob    []byte `parquet:"tx_blob"`            // as signed
	Meta    []byte `parquet:"meta"`               // metadata
}

// groupRows is the number of rows of a group, which are in memory until it is written: about 20 MB.
const groupRows = 20_000

// Parquet writes a row per transaction, compressed with zstd.
func Parquet(ctx context.Context, w io.Writer, from Source, indexes iter.Seq[uint32], report func()) error {
	to := parquet.NewGenericWriter[Row](w, parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(groupRows),
		parquet.CreatedBy("ledgersync", "1", ""), parquet.KeyValueMetadata("source", "XRP Ledger history"))
	var rows []Row
	err := each(ctx, from, indexes, report, func(l *xrpl.Ledger) error {
		h, err := xrpl.ParseHeader(l.Header)
		if err != nil {
			return fmt.Errorf("ledger %d: %w", l.Index, err)
		}
		rows = rows[:0]
		for i := range l.Transactions {
			rows = append(rows, row(l, i, h.Close))
		}
		_, err = to.Write(rows)
		return err
	})
	return errors.Join(err, to.Close())
}

func row(l *xrpl.Ledger, i int, closed uint32) Row {
	t := &l.Transactions[i]
	r := Row{
		LedgerIndex: l.Index, CloseTime: xrpl.Time(closed), Position: uint32(i),
		Hash: xrpl.TransactionID(t.Blob).String(), Blob: t.Blob, Meta: t.Meta,
	}
	r.Account, r.Type = sender(t.Blob)
	return r
}

func sender(blob []byte) (account, kind string) {
	_ = xrpl.Walk(blob, func(f xrpl.Field) error { // unreadable fields stay empty
		value := blob[f.ValueStart:f.End]
		switch {
		case f.Depth == 0 && f.Is(sfield.TransactionType) && len(value) == 2:
			number := int(binary.BigEndian.Uint16(value))
			kind = cmp.Or(xrpl.TransactionName(number), strconv.Itoa(number))
		case f.Depth == 0 && f.Is(sfield.Account) && len(value) == len(xrpl.AccountID{}):
			account = xrpl.AccountID(value).String()
			return xrpl.ErrStop
		}
		return nil
	})
	return account, kind
}
