package serve

import (
	"context"
	"errors"

	"dyno/services/ledger/store"
	"dyno/services/ledger/xrpl"
)

// build is the rippled version whose answers these are, in the form that clients compare versions
// in, with this program's name.
const build = "2.6.1-ledgersync"

// info is the method server_info. TestMembers has rippled's members that are left out.
func (s *Server) info(ctx context.Context, c *call) ([]byte, error) {
	now, v := s.config.Now(), s.hot.view.Load() // of one view: the newest ledger is one of the complete ones
	info := map[string]any{
		"build_version":              build,
		"complete_ledgers":           v.stored.String(),
		"hostid":                     "ledgersync",
		"jq_trans_overflow":          "0", // it takes no transactions
		"load_factor":                1,
		"peer_disconnects":           "0", // it has no peers
		"peer_disconnects_resources": "0",
		"peers":                      0,
		"server_state":               "connected", // rippled's state without a ledger
		"time":                       now.UTC().Format("2006-Jan-02 15:04:05.000000 UTC"),
		"uptime":                     int64(now.Sub(s.started).Seconds()),
	}
	if id := s.config.Network(); id != nil {
		info["network_id"] = *id
	}
	p, err := s.newest(ctx, v)
	switch {
	case err == nil:
		info["server_state"] = "full"
		info["validated_ledger"] = map[string]any{
			"age":  max(0, int64(now.Sub(xrpl.Time(p.Parsed.Close)).Seconds())),
			"hash": p.Hash.String(),
			"seq":  p.Parsed.Index,
		}
	case !errors.Is(err, store.ErrMissing):
		return nil, err
	}
	return encode(map[string]any{"info": info, "status": "success"}), nil
}
