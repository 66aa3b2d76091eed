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

// cacheVersion is that of the optimiser: choices that others made are not used.
const cacheVersion = 10

// cachedRoutes is a choice as it is cached: for the canonical fault, by class.
type cachedRoutes struct {
	Routes  [][]engine.Step // by class; empty where it has no flow
	Each    bool            // every pair has paths of its own
	Rule    *WildRule       // of channels; nil where the paths have their own
	Bound   float64
	Split   float64 // Decision.BoundSplit
	Metrics map[string]float64
	Labels  map[string]string

	Least, LeastSplit engine.Time // of Decision
}

// cacheKey is a hash of all that a choice depends on.
func (r *optimiser) cacheKey() (string, error) {
	type link struct {
		From, To, Channels int32
		Rate               float64
	}
	type task struct {
		engine.Task
		After []engine.Edge
	}
	p := r.problem
	inputs := struct {
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
	}{Version: cacheVersion, Seed: r.seed, Options: r.Optimised, Wild: r.wild, Nodes: p.Network.Nodes, Uniform: p.Uniform()}
	inputs.Options.Cache = ""
	if t := p.Torus; t != nil {
		inputs.Dims, inputs.Open, inputs.Shift = t.Dims, t.Open, t.Shift
	}
	if p.RatesDiffer() {
		inputs.Rate = p.referenceRate()
	}
	for _, l := range p.Network.Links {
		if inputs.Rate == 0 && l.Rate > 0 {
			l.Rate = 1
		}
		inputs.Links = append(inputs.Links, link{l.From, l.To, l.Channels, l.Rate})
	}
	if g := p.Graph; g != nil {
		inputs.Fastest = p.maxRate()
		inputs.Routers, inputs.Routers.Optimised = r.options.Settings, Optimised{}
		inputs.Pinned = p.Pinned
		for i, t := range g.Tasks {
			inputs.Tasks = append(inputs.Tasks, task{t, g.In(int32(i))})
		}
	}
	if !inputs.Uniform {
		inputs.Flows, inputs.Demand = p.Flows, p.Demand
	}
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(inputs); err != nil {
		return "", fmt.Errorf("routing: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// cacheFile returns the file of a choice.
func (r *optimiser) cacheFile(key string) string { return filepath.Join(r.Cache, "routes-"+key[:32]) }

// maxCacheBytes is the most bytes of a choice that is read.
const maxCacheBytes = 1 << 30

// loadCached returns a choice that was cached; nil where there is none that is whole.
func (r *optimiser) loadCached(key string) *cachedRoutes {
	f, err := os.Open(r.cacheFile(key))
	if err != nil {
		return nil
	}
	defer f.Close()
	var head [2 * sha256.Size]byte
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCacheBytes {
		return nil
	}
	if _, err := io.ReadFull(f, head[:]); err != nil || hex.EncodeToString(head[sha256.Size:]) != key {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(f, maxCacheBytes))
	if err != nil {
		return nil
	}
	h := sha256.New()
	h.Write(head[sha256.Size:])
	h.Write(body)
	if !bytes.Equal(h.Sum(nil), head[:sha256.Size]) {
		return nil
	}
	k := new(cachedRoutes)
	if gob.NewDecoder(bytes.NewReader(body)).Decode(k) != nil {
		return nil
	}
	return k
}

// storeCached caches a choice: a file is there whole or not at all.
func (r *optimiser) storeCached(key string, k *cachedRoutes) (err error) {
	fail := func(err error) error { return fmt.Errorf("routing: keeping routes in the cache: %w", err) }
	var body bytes.Buffer
	hash, err := hex.DecodeString(key)
	if err != nil {
		return fail(err)
	}
	body.Write(hash)
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
		err = os.Rename(f.Name(), r.cacheFile(key))
	}
	if err != nil {
		return fail(errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
