package record

import "path/filepath"

// Peer is a process of this machine that the target talks to as a client.
type Peer struct {
	PID     int     `json:"pid"`
	Program string  `json:"program"`
	Address string  `json:"address"` // at which it listens
	CPU     float64 `json:"cpu"`     // cores used since it was first seen
}

// Downstream is what was seen of a process that the target calls, during a run under profiles of both.
type Downstream struct {
	Target   Target        `json:"target"`
	Around   Surroundings  `json:"surroundings"` // as if it were the target
	Profiles []ProfileFile `json:"profiles,omitempty"`
}

// DownstreamFolder holds a downstream's profiles, in the run's folder.
const DownstreamFolder = "downstream"

// OfDownstream is the run as if its downstream had been the target; nil: none was looked into.
func (r *Run) OfDownstream() *Run {
	if r.Downstream == nil {
		return nil
	}
	out := *r
	out.Target, out.Around, out.Profiles = r.Downstream.Target, r.Downstream.Around, r.Downstream.Profiles
	out.Dir = filepath.Join(r.Dir, DownstreamFolder)
	out.Totals.Server, out.Downstream, out.Made, out.MadeTrace = nil, nil, nil, nil
	return &out
}
