package routing

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sim/engine"
)

// version is that of the optimiser: choices that others made are not used.
const version = 10

// kept is a choice as it is cached: for the canonical fault, by class.
type kept struct {
	Routes  [][]engine.Step // by class; empty where it has no flow
	Each    bool            // every pair has paths of its own
	Rule    *WildRule       // of channels; nil where the paths have their own
	Bound   float64
	Split   float64 // Decision.BoundSplit
	Metrics map[string]float64
	Labels  map[string]string

	Least, LeastSplit engine.Time // of Decision
}

// key is a hash of all that a choice depends on.
func (r *optimiser) key() (string, error) {
	type link struct {
		From, To, Channels int32
		Rate               float64
	}
	type task struct {
		engine.Task
		After []engine.Edge
	}
	p := r.p
	of := struct {
		Version, Seed uint64
		Options       Optimised
		Wild          WildRule
		Routers       Settings // of other routers, among whose routes that of a graph is chosen; else empty
		Dims          []int    // of a torus
		Open          []bool
		Shift         [][]int
		Nodes         int32
		Links         []link
		Rate          float64 // reference; 0 where rates do not matter
		Fastest       float64
		Tasks         []task
		Pinned        []int32 `json:",omitempty"`
		Uniform       bool
		Flows         []engine.Flow
		Demand        []float64
	}{Version: version, Seed: r.seed, Options: r.Optimised, Wild: r.wild, Nodes: p.Network.Nodes, Uniform: p.Uniform()}
	of.Options.Cache = ""
	if t := p.Torus; t != nil {
		of.Dims, of.Open, of.Shift = t.Dims, t.Open, t.Shift
	}
	if p.RatesDiffer() {
		of.Rate = p.reference()
	}
	for _, l := range p.Network.Links {
		if of.Rate == 0 && l.Rate > 0 {
			l.Rate = 1
		}
		of.Links = append(of.Links, link{l.From, l.To, l.Channels, l.Rate})
	}
	if g := p.Graph; g != nil {
		of.Fastest = p.fastest()
		of.Routers, of.Routers.Optimised = r.options.Settings, Optimised{}
		of.Pinned = p.Pinned
		for i, t := range g.Tasks {
			of.Tasks = append(of.Tasks, task{t, g.In(int32(i))})
		}
	}
	if !of.Uniform {
		of.Flows, of.Demand = p.Flows, p.Demand
	}
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(of); err != nil {
		return "", fmt.Errorf("routing: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// path returns the file of a choice.
func (r *optimiser) path(key string) string { return filepath.Join(r.Cache, "routes-"+key[:32]) }

// mostKept is the most bytes of a choice that is read.
const mostKept = 1 << 30

// load returns a choice that was cached; nil where there is none that is whole.
func (r *optimiser) load(key string) *kept {
	f, err := os.Open(r.path(key))
	if err != nil {
		return nil
	}
	defer f.Close()
	var head [2 * sha256.Size]byte
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostKept {
		return nil
	}
	if _, err := io.ReadFull(f, head[:]); err != nil || hex.EncodeToString(head[sha256.Size:]) != key {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(f, mostKept))
	if err != nil {
		return nil
	}
	h := sha256.New()
	h.Write(head[sha256.Size:])
	h.Write(body)
	if !bytes.Equal(h.Sum(nil), head[:sha256.Size]) {
		return nil
	}
	k := new(kept)
	if gob.NewDecoder(bytes.NewReader(body)).Decode(k) != nil {
		return nil
	}
	return k
}

// store caches a choice: a file is there whole or not at all.
func (r *optimiser) store(key string, k *kept) (err error) {
	fail := func(err error) error { return fmt.Errorf("routing: keeping routes in the cache: %w", err) }
	var body bytes.Buffer
	whole, err := hex.DecodeString(key)
	if err != nil {
		return fail(err)
	}
	body.Write(whole)
	if err := gob.NewEncoder(&body).Encode(k); err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(r.Cache, 0o755); err != nil {
		return fail(err)
	}
	f, err := os.CreateTemp(r.Cache, "tmp-routes-")
	if err != nil {
		return fail(err)
	}
	sum := sha256.Sum256(body.Bytes())
	_, err = f.Write(append(sum[:], body.Bytes()...))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), r.path(key))
	}
	if err != nil {
		return fail(errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
