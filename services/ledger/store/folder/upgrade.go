package folder

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/store"
	"dyno/services/ledger/store/index"
	"dyno/services/ledger/store/record"
	"dyno/services/ledger/xrpl"
)

// upgrade converts a store of an older format. An index by account of format 2 is made anew, by the
// next sync or serve.
func upgrade(dir string, from int) error {
	switch from {
	case 1:
		return upgrade1(dir)
	case 2:
		return upgrade2(dir)
	}
	return fmt.Errorf("there is no format %d", from)
}

func upgrade2(dir string) error {
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		return err
	}
	return errors.Join(s.ForgetAccounts(), s.Close())
}

// upgrade1 converts a store of format 1, which needs the same room again until store.Open removes
// the old one. It starts again after an interruption. The old one is a pebble database: under l the
// ledger as in store/record, h, t and a as today, under e and E the evidence and its answers, under
// m/ format, accounts, stored and progress.
func upgrade1(dir string) (err error) {
	for _, begun := range []string{store.PacksFolder, store.IndexFolder, store.EvidenceFolder} {
		if err := vfs.Default.RemoveAll(filepath.Join(dir, begun)); err != nil {
			return err
		}
	}
	const hint = "sync into a new folder"
	folder := filepath.Join(dir, store.OldFolder)
	db, err := index.Open(folder, index.Options{ReadOnly: true, Log: true})
	if err != nil {
		return fmt.Errorf("%w; %s", err, hint)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	codec, err := record.NewCodec("")
	if err != nil {
		return err
	}
	defer codec.Close()
	old := older{db, codec}
	if format, err := old.text("format"); format != "1" {
		return errors.Join(err, fmt.Errorf("%s is damaged: no value in it can be read; %s", folder, hint))
	}
	accounts, err := old.text("accounts")
	if err != nil {
		return err
	}
	s, err := store.Open(dir, store.Options{Accounts: accounts == "on", Compression: "s2"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = errors.Join(old.evidence(s.Evidence()), old.ledgers(s))
	if err == nil && len(s.Stored()) == 0 && db.LogSize() > emptyLog {
		err = fmt.Errorf("%s is damaged: it has a log, and no ledger in it can be read; %s", folder, hint)
	}
	return err
}

// emptyLog is the maximum size in bytes of the log of a store without ledgers.
const emptyLog = 4 << 10

type older struct {
	*index.DB
	codec *record.Codec
}

// text is something that the store says about itself, or "".
func (o older) text(name string) (string, error) {
	b, err := o.Get(index.MetaKey(name))
	if errors.Is(err, index.ErrMissing) {
		err = nil
	}
	return string(b), err
}

func (o older) ledgers(s *store.Store) error {
	var p store.Progress
	text, err := o.text("progress")
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &p)
	}
	if err != nil {
		return fmt.Errorf("progress is damaged: %w", err)
	}
	var batch []*xrpl.Ledger
	err = o.Each(index.Ledgers, func(_, value []byte) error {
		r, err := record.ParseStored(append([]byte(nil), value...))
		if err != nil {
			return err
		}
		l := new(xrpl.Ledger)
		if err := o.codec.Read(r, l); err != nil {
			return err
		}
		if batch = append(batch, l); len(batch) < 64 {
			return nil
		}
		err = s.Append(batch, p)
		batch = batch[:0]
		return err
	})
	if err != nil {
		return fmt.Errorf("the ledgers: %w", err)
	}
	return s.Append(batch, p)
}

func (o older) evidence(to *store.Shelf) error {
	return o.Each('e', func(_, value []byte) error {
		var wrong store.WrongAnswer
		if err := json.Unmarshal(value, &wrong); err != nil {
			return err
		}
		compressed, err := o.Get(binary.BigEndian.AppendUint64([]byte{'E'}, wrong.Sequence))
		if err != nil {
			return err
		}
		text, err := o.codec.Unzstd(compressed)
		if err != nil {
			return err
		}
		return to.KeepText(wrong, text)
	})
}
