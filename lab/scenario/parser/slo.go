package parser

import (
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario/document"

	"go.yaml.in/yaml/v3"
)

// slo reads the SLO: a line that record.ParseSLO parses, or a mapping. The schema reports wrong
// types.
func (c *checker) slo() {
	p := document.At("slo")
	if !c.Has(p) {
		return
	}
	n := c.Node(p)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		var err error
		if c.s.SLO, err = record.ParseSLO(n.Value); err != nil {
			c.FaultAt(p, "%v", err)
		}
		return
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	slo := &c.s.SLO
	slo.Errors = record.DefaultErrors
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		switch name {
		case "on":
			slo.On = value.Value
		case "errors":
			share, err := record.ParseShare(value.Value)
			if err != nil && value.Kind == yaml.ScalarNode {
				c.FaultAt(p.To(name), "%v", err)
			}
			slo.Errors = share
		case "frames":
			if err := value.Decode(&slo.Frames); err != nil && c.decodeErr == nil {
				c.decodeErr = err
			}
		case "gauges":
			c.gauges(p.To(name))
		default:
			c.bound(p.To(name), name, value)
		}
	}
	if !slo.Bounded() {
		c.FaultName(p, "bounds no latency; write for example p99: 20ms")
	}
}

func (c *checker) bound(p document.Path, quantile string, value *yaml.Node) {
	if _, known := (record.Quantiles{}).At(quantile); !known {
		return
	}
	d, err := time.ParseDuration(value.Value)
	if err == nil && d <= 0 {
		c.FaultAt(p, "found %s; a bound is above 0, as in 20ms", value.Value)
	}
	if c.s.SLO.Latency == nil {
		c.s.SLO.Latency = map[string]float64{}
	}
	c.s.SLO.Latency[quantile] = float64(d) / float64(time.Millisecond)
}

func (c *checker) gauges(p document.Path) {
	c.s.SLO.Gauges = map[string]float64{}
	if err := c.Node(p).Decode(&c.s.SLO.Gauges); err != nil && c.decodeErr == nil {
		c.decodeErr = err
	}
}
