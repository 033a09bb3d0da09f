package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/store"
	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/store/index"
	"dyno/services/ledger/xrpl"
)

// Contents of the data folder, beside the store's own.
const (
	quarantineFolder = "quarantine"
	repairingFolder  = "repairing" // the old index, until a repair is complete
)

// Repair opens the store of a data folder, whatever state its files are in. It copies bytes of the
// packs that are no records to the quarantine, moves the index there, and builds a new one of all
// ledgers that were proved and that verify again. Lost ledgers are missing then and must be synced;
// answers that wait for their proof still do. Marks that the packs have lost come from the old
// index; a Check at L4 finds those that it did not have. An interrupted repair may be run again:
// the old index leaves the folder "repairing" only when the new one has all its entries.
func Repair(dir string, o store.Options) (s *store.Store, r Repaired, err error) {
	if o.Lock, err = Data.OpenExisting(dir, service); err != nil {
		return nil, r, err
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	p := repair{fs: o.FS, dir: dir, done: Repaired{Quarantined: []string{}}, marks: map[uint32]string{}}
	if err := p.clear(); err != nil {
		return nil, p.done, errors.Join(fmt.Errorf("repairing %s: %w", dir, err), o.Lock.Close())
	}
	o.ReadOnly, o.Accounts, o.Prove = false, p.had.Accounts == "on", true
	if s, err = store.Open(dir, o); err != nil {
		return nil, p.done, errors.Join(err, o.Lock.Close())
	}
	if err := p.restore(s); err != nil {
		return nil, p.done, errors.Join(err, s.Close())
	}
	return s, p.done, nil
}

type repair struct {
	fs   vfs.FS
	dir  string
	done Repaired

	// What the old index still said, and that of an interrupted repair.
	had   store.About
	marks map[uint32]string
}

// restore adds to a new index what the packs may have lost.
func (r *repair) restore(s *store.Store) error {
	if asked := r.had.Progress.Range(); asked.Len() > 0 && asked != s.Progress().Range() {
		if err := s.Append(nil, r.had.Progress); err != nil {
			return err
		}
	}
	if err := markAgain(s, r.marks); err != nil {
		return err
	}
	return r.quarantineIndex(repairingFolder)
}

// clear copies damaged bytes of the packs to the quarantine, moves the index aside, and reads what
// it still can in it.
func (r *repair) clear() error {
	quarantine := r.fs.PathJoin(r.dir, quarantineFolder)
	if err := r.fs.MkdirAll(quarantine, 0o755); err != nil {
		return err
	}
	packs, err := flat.Open(r.fs.PathJoin(r.dir, store.PacksFolder), flat.Options{FS: r.fs})
	if err != nil {
		return err
	}
	err = packs.Scan(flat.Position{}, func(flat.Ref, []byte) error { return nil }, func(d flat.Damage) error {
		name := fmt.Sprintf("%s.%d-%d", d.File.Name, d.From, d.To)
		r.done.Quarantined = append(r.done.Quarantined, name)
		r.done.Bytes += d.To - d.From
		return packs.Copy(d, r.fs.PathJoin(quarantine, name))
	})
	if err = errors.Join(err, packs.Close()); err != nil {
		return err
	}
	current, aside := r.fs.PathJoin(r.dir, store.IndexFolder), r.fs.PathJoin(r.dir, repairingFolder)
	_, first := r.fs.Stat(aside)
	for _, from := range []string{aside, current} { // the newer one overrides the older
		r.salvage(from)
	}
	if first != nil && r.done.Bytes == 0 {
		r.marks = nil // the packs have all of them
	}
	if _, missing := r.fs.Stat(current); missing != nil {
		return nil
	}
	if first != nil {
		return r.fs.Rename(current, aside)
	}
	return r.quarantineIndex(store.IndexFolder)
}

func (r *repair) quarantineIndex(folder string) error {
	from := r.fs.PathJoin(r.dir, folder)
	if _, missing := r.fs.Stat(from); missing != nil {
		return nil
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d", store.IndexFolder, n)
		to := r.fs.PathJoin(r.dir, quarantineFolder, name)
		if _, missing := r.fs.Stat(to); missing != nil {
			r.done.Quarantined = append(r.done.Quarantined, name)
			return r.fs.Rename(from, to)
		}
	}
}

// salvage adds what an index says about the store, and its marks, if it can be read.
func (r *repair) salvage(dir string) {
	old, err := index.Open(dir, index.Options{FS: r.fs, ReadOnly: true})
	if err != nil {
		return
	}
	defer old.Close()
	if accounts, err := old.Get(index.MetaKey("accounts")); err == nil {
		r.had.Accounts = string(accounts)
	}
	var progress store.Progress
	if text, err := old.Get(index.MetaKey("progress")); err == nil && json.Unmarshal(text, &progress) == nil && progress.Range().Len() > 0 {
		r.had.Progress = progress
	}
	_ = old.EachMark(store.Everything, func(number uint32, reason string) { r.marks[number] = reason })
}

// markAgain restores marks of an old index, for ledgers that are stored and fail verification.
func markAgain(s *store.Store, marks map[uint32]string) error {
	_, signature := signing.FastestChecker()
	for _, number := range slices.Sorted(maps.Keys(marks)) {
		var l xrpl.Ledger
		if s.Ledger(number, &l) != nil {
			continue
		}
		if _, err := signing.Verify(&l, signature); err != nil {
			if err := s.Mark(number, marks[number]); err != nil {
				return err
			}
		}
	}
	return nil
}
