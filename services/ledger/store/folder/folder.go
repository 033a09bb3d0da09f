// Package folder opens, checks, repairs and upgrades the store of a data folder that no other
// process uses, and unpacks files of ledgers (services/ledger/xrpl/pack) into a store. The service
// itself, whose folder is locked by parts/daemon, opens its store directly.
//
// A check proves a store again: its ledgers, and that its index has exactly these; it changes
// nothing. The package's goroutines are those of CheckStore and Unpack, which wait for them.
package folder

import (
	"errors"

	"dyno/parts/datadir"
	"dyno/services/ledger/store"
)

// service is the name of the service whose data folders hold stores.
const service = "ledgersync"

// Default is the default folder of all commands, including serve and sync.
const Default = service + "-data"

// Data is the format of the folder.
var Data = datadir.Folder{Format: store.Format, Upgrade: upgrade}

// Open opens the store and locks the folder until the store's Close. A folder without data is
// refused if it is opened for reading, else it is made.
func Open(dir string, o store.Options) (*store.Store, error) {
	take := Data.Open
	if o.ReadOnly {
		take = Data.OpenExisting
	}
	lock, err := take(dir, service)
	if err != nil {
		return nil, err
	}
	o.Lock = lock
	s, err := store.Open(dir, o)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}
