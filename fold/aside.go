package fold

// Aside holds the groups of a partial that most sessions lack. One is never
// changed once a step holds it.
type Aside struct {
	Control *Control // requests of the control topic
	Acks    []Ack    // of such requests, by the lane's participants; ascending
	Held    *Held
	Kin     []Kin // parents that records named beside the first, in order of arrival

	// Mention is the first record of another session that links a resource to
	// this one, when it came before any record of this session; else nil.
	Mention *Stamp
}

// aside gives a copy to change, which the partial holds from now on. What hangs
// behind it is still shared.
func (p *Partial) aside() *Aside {
	a := &Aside{}
	if p.Aside != nil {
		*a = *p.Aside
	}
	p.Aside = a
	return a
}

// groups gives the groups to read.
func (p *Partial) groups() *Aside {
	if p.Aside == nil {
		return &noGroups
	}
	return p.Aside
}

var noGroups Aside // never changed
