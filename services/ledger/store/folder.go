package store

import (
	"errors"

	"dyno/parts/daemon"
)

// service is the name of the service whose data folders hold stores.
const service = "ledgersync"

// DefaultFolder is the default folder of all commands, including serve and sync.
const DefaultFolder = service + "-data"

// OpenFolder opens the store of a data folder that no other process uses: it locks the folder until
// Close, and checks its format. It is for commands that run outside of the service, whose folder is
// locked by parts/daemon. A folder without data is refused if it is opened for reading, else it is
// made.
func OpenFolder(dir string, o Options) (*Store, error) {
	data := daemon.DataFolder{Format: Format, Upgrade: Upgrade}
	take := data.Open
	if o.ReadOnly {
		take = data.OpenExisting
	}
	lock, err := take(dir, service)
	if err != nil {
		return nil, err
	}
	s, err := Open(dir, o)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s.lock = lock
	return s, nil
}
