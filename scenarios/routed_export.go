package scenarios

import (
	"fmt"
	"os"
	"path/filepath"

	"sim/engine"
	"sim/policies/routing"
)

// Routes are the ways of a policy's flows, for export.
type Routes struct {
	Policy  string
	network *engine.Network
	flows   []engine.Flow
	walks   *engine.Walks
}

// Write writes the forwarding tables of the chips and the tags that packets carry
// into files of a directory, which must exist: POLICY-tables.csv and
// POLICY-tags.csv. It fails on ways that come to a node twice, which no tables
// lead.
func (r *Routes) Write(dir string) error {
	z, err := routing.Compile(r.network, r.flows, r.walks)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Policy, err)
	}
	tables, err := os.Create(filepath.Join(dir, r.Policy+"-tables.csv"))
	if err != nil {
		return err
	}
	if err := z.WriteCSV(tables); err != nil {
		tables.Close()
		return err
	}
	if err := tables.Close(); err != nil {
		return err
	}
	tags, err := os.Create(filepath.Join(dir, r.Policy+"-tags.csv"))
	if err != nil {
		return err
	}
	if err := z.WriteTags(tags); err != nil {
		tags.Close()
		return err
	}
	return tags.Close()
}
