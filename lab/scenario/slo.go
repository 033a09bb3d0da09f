package scenario

import (
	"time"

	"dyno/lab/record"

	"go.yaml.in/yaml/v3"
)

// slo reads the SLO: a line that record.ParseSLO parses, or a mapping. The schema reports wrong
// types.
func (c *checker) slo() {
	p := at("slo")
	_, n, ok := c.find(p)
	if !ok {
		return
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		var err error
		if c.s.SLO, err = record.ParseSLO(n.Value); err != nil {
			c.faultAt(p, "%v", err)
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
				c.faultAt(p.to(name), "%v", err)
			}
			slo.Errors = share
		case "gauges":
			c.gauges(p.to(name))
		default:
			c.bound(p.to(name), name, value)
		}
	}
	if len(slo.Latency) == 0 && len(slo.Gauges) == 0 {
		c.faultName(p, "bounds no latency; write for example p99: 20ms")
	}
}

func (c *checker) bound(p path, quantile string, value *yaml.Node) {
	if _, known := (record.Quantiles{}).At(quantile); !known {
		return
	}
	d, err := time.ParseDuration(value.Value)
	if err == nil && d <= 0 {
		c.faultAt(p, "found %s; a bound is above 0, as in 20ms", value.Value)
	}
	if c.s.SLO.Latency == nil {
		c.s.SLO.Latency = map[string]float64{}
	}
	c.s.SLO.Latency[quantile] = float64(d) / float64(time.Millisecond)
}

func (c *checker) gauges(p path) {
	c.s.SLO.Gauges = map[string]float64{}
	if err := c.node(p).Decode(&c.s.SLO.Gauges); err != nil && c.decodeErr == nil {
		c.decodeErr = err
	}
}
