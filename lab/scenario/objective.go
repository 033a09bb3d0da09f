package scenario

import (
	"errors"
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario/document"

	"go.yaml.in/yaml/v3"
)

// readSLO reads the SLO at a place in a document: a line that record.ParseSLO parses, or a mapping.
// Faults go to the document; the error is about wrong types, which the schema reports in better
// words.
func readSLO(d *document.Document, p document.Path) (record.SLO, error) {
	if !d.Has(p) {
		return record.SLO{}, nil
	}
	n := d.Node(p)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		slo, err := record.ParseSLO(n.Value)
		if err != nil {
			d.FaultAt(p, "%v", err)
		}
		return slo, nil
	}
	if n.Kind != yaml.MappingNode {
		return record.SLO{}, nil
	}
	slo, wrong := record.SLO{Errors: record.DefaultErrors}, []error(nil)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		switch name {
		case "on":
			slo.On = value.Value
		case "errors":
			share, err := record.ParseShare(value.Value)
			if err != nil && value.Kind == yaml.ScalarNode {
				d.FaultAt(p.To(name), "%v", err)
			}
			slo.Errors = share
		case "frames":
			wrong = append(wrong, value.Decode(&slo.Frames))
		case "gauges":
			slo.Gauges = map[string]float64{}
			wrong = append(wrong, value.Decode(&slo.Gauges))
		default:
			readBound(d, p.To(name), name, value, &slo)
		}
	}
	if !slo.Bounded() {
		d.FaultName(p, "bounds no latency; write for example p99: 20ms")
	}
	return slo, errors.Join(wrong...)
}

func readBound(d *document.Document, p document.Path, quantile string, value *yaml.Node, slo *record.SLO) {
	if _, known := (record.Quantiles{}).At(quantile); !known {
		return
	}
	most, err := time.ParseDuration(value.Value)
	if err == nil && most <= 0 {
		d.FaultAt(p, "found %s; a bound is above 0, as in 20ms", value.Value)
	}
	if slo.Latency == nil {
		slo.Latency = map[string]float64{}
	}
	slo.Latency[quantile] = float64(most) / float64(time.Millisecond)
}
