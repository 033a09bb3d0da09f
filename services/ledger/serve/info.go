package serve

import (
	"context"
	"errors"

	"dyno/parts/xrpl"
	"dyno/services/ledger/store"
)

// info is the method server_info, with the fields of rippled's answer that are known here.
func (s *Server) info(ctx context.Context, c *call) ([]byte, error) {
	now := s.config.Now()
	info := map[string]any{
		"build_version":    "ledgersync",
		"complete_ledgers": s.hot.view.Load().stored.String(),
		"load_factor":      1,
		"server_state":     "connected", // rippled's state without a ledger
		"time":             now.UTC().Format("2006-Jan-02 15:04:05.000000 UTC"),
		"uptime":           int64(now.Sub(s.started).Seconds()),
	}
	p, err := s.newest(ctx)
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
