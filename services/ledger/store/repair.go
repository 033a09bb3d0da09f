package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/parts/daemon"
	"dyno/parts/xrpl"
	"dyno/services/ledger/store/flat"
)

// Repaired is the result of RepairFolder.
type Repaired struct {
	// Files in that folder: bytes that are no records, and the old index.
	Quarantined []string `json:"quarantined"`
	Bytes       int64    `json:"bytes"` // bytes of the packs that are no records
}

// RepairFolder opens the store of a data folder that no other process uses, whatever state its
// files are in. It copies bytes of the packs that are no records to the quarantine, moves the index
// there, and builds a new one of all ledgers that were proved and that verify again. Lost ledgers
// are missing then and must be synced; answers that wait for their proof still do. Marks that the
// packs have lost come from the old index; a Check at L4 finds those that it did not have. An
// interrupted repair may be run again: the old index leaves the folder "repairing" only when the
// new one has all its entries.
func RepairFolder(dir string, o Options) (s *Store, r Repaired, err error) {
	lock, err := daemon.DataFolder{Format: Format, Upgrade: Upgrade}.OpenExisting(dir, service)
	if err != nil {
		return nil, r, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if o.FS == nil {
		o.FS = vfs.Default
	}
	had, marks, err := r.clear(o.FS, dir)
	if err != nil {
		return nil, r, fmt.Errorf("repairing %s: %w", dir, err)
	}
	o.ReadOnly, o.Accounts = false, ""
	if had.Accounts == "on" {
		o.Accounts = "on"
	}
	if s, err = openStore(dir, o, true); err != nil {
		return nil, r, err
	}
	// The packs may have lost the progress.
	if had.Progress.Range().Len() > 0 && had.Progress.Range() != s.Progress().Range() {
		if err = s.Append(nil, had.Progress); err != nil {
			return nil, r, errors.Join(err, s.Close())
		}
	}
	if err = s.markAgain(marks); err != nil {
		return nil, r, errors.Join(err, s.Close())
	}
	if err = r.quarantineIndex(o.FS, dir, repairingFolder); err != nil {
		return nil, r, errors.Join(err, s.Close())
	}
	s.lock = lock
	return s, r, nil
}

// clear copies damaged bytes of the packs to the quarantine and moves the index aside. It returns
// what it could read in the index, and in that of an interrupted repair.
func (r *Repaired) clear(fs vfs.FS, dir string) (had proved, marks map[uint32]string, err error) {
	quarantine := fs.PathJoin(dir, quarantineFolder)
	if err := fs.MkdirAll(quarantine, 0o755); err != nil {
		return had, nil, err
	}
	r.Quarantined = []string{}
	packs, err := flat.Open(fs.PathJoin(dir, packsFolder), flat.Options{FS: fs})
	if err != nil {
		return had, nil, err
	}
	err = packs.Scan(flat.Position{}, func(flat.Ref, []byte) error { return nil }, func(d flat.Damage) error {
		name := fmt.Sprintf("%s.%d-%d", d.File.Name, d.From, d.To)
		r.Quarantined = append(r.Quarantined, name)
		r.Bytes += d.To - d.From
		return packs.Copy(d, fs.PathJoin(quarantine, name))
	})
	if err = errors.Join(err, packs.Close()); err != nil {
		return had, nil, err
	}
	index, aside := fs.PathJoin(dir, indexFolder), fs.PathJoin(dir, repairingFolder)
	marks = map[uint32]string{}
	_, first := fs.Stat(aside)
	for _, from := range []string{aside, index} { // the newer one overrides the older
		salvage(fs, from, &had, marks)
	}
	if first != nil && r.Bytes == 0 {
		marks = nil // the packs have all of them
	}
	if _, missing := fs.Stat(index); missing != nil {
		return had, marks, nil
	}
	if first != nil {
		return had, marks, fs.Rename(index, aside)
	}
	return had, marks, r.quarantineIndex(fs, dir, indexFolder)
}

func (r *Repaired) quarantineIndex(fs vfs.FS, dir, folder string) error {
	from := fs.PathJoin(dir, folder)
	if _, missing := fs.Stat(from); missing != nil {
		return nil
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d", indexFolder, n)
		to := fs.PathJoin(dir, quarantineFolder, name)
		if _, missing := fs.Stat(to); missing != nil {
			r.Quarantined = append(r.Quarantined, name)
			return fs.Rename(from, to)
		}
	}
}

// salvage adds the ledgers and marks of an index, if it can be read.
func salvage(fs vfs.FS, dir string, had *proved, marks map[uint32]string) {
	db, err := openPebble(dir, pebbleOptions(fs, true))
	if err != nil {
		return
	}
	defer db.Close()
	old := &older{db: db}
	if accounts := old.text("accounts"); accounts != "" {
		had.Accounts = accounts
	}
	var progress Progress
	if json.Unmarshal([]byte(old.text("progress")), &progress) == nil && progress.Range().Len() > 0 {
		had.Progress = progress
	}
	it, err := db.NewIter(bounds(kindMark))
	if err != nil {
		return
	}
	defer it.Close()
	for it.First(); it.Valid(); it.Next() {
		if len(it.Key()) == 1+4 {
			marks[binary.BigEndian.Uint32(it.Key()[1:])] = string(it.Value())
		}
	}
}

// markAgain restores marks of an old index, for ledgers that are stored and fail verification.
func (s *Store) markAgain(marks map[uint32]string) error {
	_, signature := xrpl.FastestChecker()
	v := xrpl.NewVerifier()
	for _, index := range slices.Sorted(maps.Keys(marks)) {
		var l xrpl.Ledger
		if s.Ledger(index, &l) != nil {
			continue
		}
		if _, err := v.Signatures(&l, signature); err == nil {
			continue
		}
		if err := s.Mark(index, marks[index]); err != nil {
			return err
		}
	}
	return nil
}
