package study

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shard is a part of a sweep. The zero value is the whole; of others Plan.Share says which cells they have.
type Shard struct {
	Index, Count int

	cells []bool
}

// Has reports whether cell i belongs to the shard.
func (s Shard) Has(i int) bool { return s.Count <= 1 || s.cells[i] }

// Share gives a shard its cells, by the plan alone, so that all machines share them in one way. Cells that one decision
// serves stay together. Each shard is to have as much as the others to do of each policy, about: nobody knows beforehand
// how policies compare. From the largest on, a policy's cells go where it has least to do so far or, of several such
// places, all policies have. It fails only where ctx ends.
func (p *Plan) Share(ctx context.Context, s Shard) (Shard, error) {
	if s.Count <= 1 {
		return s, nil
	}
	sizes, err := p.sizes(ctx)
	if err != nil {
		return s, err
	}
	all := make([]int, len(p.Sweep.Cells))
	for i := range all {
		all[i] = i
	}
	units := batches(p, all)
	slices.Reverse(units) // of cells of one size the later ones are the larger, as people list values
	size := func(unit []int) int64 { return sizes.of(p.Variant[unit[0]]) }
	slices.SortStableFunc(units, func(a, b []int) int { return cmp.Compare(size(b), size(a)) })
	total, of := make([]int64, s.Count), map[string][]int64{}
	s.cells = make([]bool, len(all))
	for _, u := range units {
		policy := p.Sweep.Cells[u[0]].Policy
		if of[policy] == nil {
			of[policy] = make([]int64, s.Count)
		}
		least := 0
		for k := range total {
			if cmp.Or(cmp.Compare(of[policy][k], of[policy][least]), cmp.Compare(total[k], total[least])) < 0 {
				least = k
			}
		}
		of[policy][least] += size(u)
		total[least] += size(u)
		for _, i := range u {
			s.cells[i] = least == s.Index
		}
	}
	return s, nil
}

// String returns "2/4", counting from 1 as people do, and "" for the whole.
func (s Shard) String() string {
	if s.Count <= 1 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index+1, s.Count)
}

// journal is the name of the shard's journal.
func (s Shard) journal() string {
	if s.Count <= 1 {
		return "cells.jsonl"
	}
	return fmt.Sprintf("cells-%dof%d.jsonl", s.Index+1, s.Count)
}

// ParseShard reads "2/4". Of "/4", and of "" in a job array of Slurm, the part is the one that the batch system's
// variables name: SLURM_ARRAY_TASK_ID with _MIN, _STEP and _COUNT, or a Kubernetes indexed Job's JOB_COMPLETION_INDEX.
// from names the variable that was read, "" where none was.
func ParseShard(text string, getenv func(string) string) (s Shard, from string, err error) {
	bad := func(format string, args ...any) (Shard, string, error) {
		return Shard{}, "", fmt.Errorf(format, args...)
	}
	var index, arrayCount int
	if text == "" || strings.HasPrefix(text, "/") {
		if index, from, arrayCount, err = arrayPlace(getenv); err != nil {
			return Shard{}, "", err
		}
	}
	if text == "" {
		switch {
		case from != "" && arrayCount == 0:
			return bad("%s says that this is one of several jobs, but not of how many: write --shard /N, or --shard 1/1 for all cells", from)
		case arrayCount <= 1:
			return Shard{}, "", nil
		}
		return Shard{Index: index, Count: arrayCount}, from, nil
	}
	part, count, ok := strings.Cut(text, "/")
	n, errN := strconv.Atoi(count)
	if !ok || errN != nil || n < 1 || n > 1_000_000 {
		return bad("--shard wants I/N such as 2/4, not %q", text)
	}
	if part == "" {
		if from == "" {
			return bad("--shard %s takes its part from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, which are not set; write --shard 1%s", text, text)
		}
		if index >= n {
			return bad("--shard %s: %s says that this is part %d", text, from, index+1)
		}
		return Shard{Index: index, Count: n}, from, nil
	}
	i, err := strconv.Atoi(part)
	if err != nil || i < 1 || i > n {
		return bad("--shard wants I/N with I from 1 to N, such as 2/4, not %q", text)
	}
	return Shard{Index: i - 1, Count: n}, "", nil
}

// arrayPlace reads the place in a batch system's array of jobs, from 0. count is 0 where the system does not tell it.
func arrayPlace(getenv func(string) string) (index int, from string, count int, err error) {
	number := func(name string, otherwise int) int {
		text := getenv(name)
		if text == "" {
			return otherwise
		}
		n, e := strconv.Atoi(text)
		if (e != nil || n < 0) && err == nil {
			err = fmt.Errorf("the variable %s is %q, which is no number of a job", name, text)
		}
		return n
	}
	switch {
	case getenv("SLURM_ARRAY_TASK_ID") != "":
		from = "SLURM_ARRAY_TASK_ID"
		id, low, step := number(from, 0), number("SLURM_ARRAY_TASK_MIN", 0), max(1, number("SLURM_ARRAY_TASK_STEP", 1))
		count = number("SLURM_ARRAY_TASK_COUNT", 0)
		high := number("SLURM_ARRAY_TASK_MAX", low+(count-1)*step)
		if err == nil && count > 0 && ((id-low)%step != 0 || high != low+(count-1)*step) {
			return 0, from, count, fmt.Errorf("the array of %d jobs from SLURM_ARRAY_TASK_MIN %d to _MAX %d has gaps, so a part would be lost; number the jobs in equal steps, as --array=1-%d does",
				count, low, high, count)
		}
		if index = (id - low) / step; err == nil && (index < 0 || count > 0 && index >= count) {
			err = fmt.Errorf("SLURM_ARRAY_TASK_ID %d lies outside the array of %d that begins at %d", id, count, low)
		}
	case getenv("JOB_COMPLETION_INDEX") != "":
		from = "JOB_COMPLETION_INDEX"
		index = number(from, 0)
	}
	return index, from, count, err
}
