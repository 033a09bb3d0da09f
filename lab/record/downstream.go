package record

import "path/filepath"

// Peer is a process on this machine that the target calls as a client.
type Peer struct {
	PID     int     `json:"pid"`
	Program string  `json:"program"`
	Address string  `json:"address"` // the address it listens on
	CPU     float64 `json:"cpu"`     // cores used since the first reading
}

// Downstream holds the readings of a process that the target calls, taken while both were
// profiled.
type Downstream struct {
	Target   Target        `json:"target"`
	System   System        `json:"surroundings"` // measured as if this process were the target
	Profiles []ProfileFile `json:"profiles,omitempty"`
}

// DownstreamFolder is the folder of a downstream's profiles, inside the run's folder.
const DownstreamFolder = "downstream"

// OfDownstream returns the run with its downstream as the target; nil: none was profiled.
func (r *Run) OfDownstream() *Run {
	if r.Downstream == nil {
		return nil
	}
	out := *r
	out.Target, out.System, out.Profiles = r.Downstream.Target, r.Downstream.System, r.Downstream.Profiles
	out.Dir = filepath.Join(r.Dir, DownstreamFolder)
	out.Totals.Server, out.Downstream, out.FixtureProfiles, out.FixtureTrace = nil, nil, nil, nil
	return &out
}
