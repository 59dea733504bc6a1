// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// Package access asks the hub's API server who a viewer is and what they may see, and
// remembers the answers for a short while. What it could not ask is never allowed.
package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"open-cluster-management.io/multicluster-integrations/shared/api/v1alpha1"
)

// How long an answer counts, and how many are remembered.
const (
	yesFor     = time.Minute
	noFor      = 10 * time.Second
	maxAnswers = 1000
	maxRights  = 10_000
	// parallel is how many namespaces are asked for at once.
	parallel = 8
	// timeout is how long one review may take.
	timeout = 10 * time.Second
)

// What a viewer needs: to get the reports of a namespace, or of all.
const (
	Verb     = "get"
	Resource = "multiclusterapplicationsetreports"
)

// Errors of [Access].
var (
	// ErrUnknown: the token is nobody's.
	ErrUnknown = errors.New("log in with a token the hub accepts")
	// ErrUnavailable: the API server did not answer.
	ErrUnavailable = errors.New("the hub's API server does not answer; trying again")
)

// Viewer is somebody whose token the hub accepted.
type Viewer struct {
	Name string
	user authenticationv1.UserInfo
	key  [sha256.Size]byte
}

// Access asks and remembers. It is safe for concurrent use.
type Access struct {
	reviews client.Writer
	now     func() time.Time

	mu      sync.Mutex
	viewers map[[sha256.Size]byte]answer[*Viewer]
	rights  map[right]answer[bool]
}

type right struct {
	viewer    [sha256.Size]byte
	namespace string // empty: all
}

type answer[T any] struct {
	value T
	until time.Time
}

// New returns an access that asks by creating reviews. The binary's role has the right
// to, as for its metrics.
func New(reviews client.Writer, now func() time.Time) *Access {
	return &Access{reviews: reviews, now: now, viewers: map[[sha256.Size]byte]answer[*Viewer]{}, rights: map[right]answer[bool]{}}
}

// Authenticate returns whose token it is: [ErrUnknown] or [ErrUnavailable] otherwise.
func (a *Access) Authenticate(ctx context.Context, token string) (*Viewer, error) {
	if token == "" {
		return nil, ErrUnknown
	}
	key := sha256.Sum256([]byte(token))
	if v, ok := recall(a, a.viewers, key); ok {
		if v == nil {
			return nil, ErrUnknown
		}
		return v, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := a.reviews.Create(ctx, review); err != nil {
		return nil, fmt.Errorf("%w: review a token: %w", ErrUnavailable, err)
	}
	if !review.Status.Authenticated {
		remember(a, a.viewers, maxAnswers, key, nil, noFor)
		return nil, ErrUnknown
	}
	v := &Viewer{Name: review.Status.User.Username, user: review.Status.User, key: key}
	remember(a, a.viewers, maxAnswers, key, v, yesFor)
	return v, nil
}

// Allowed returns what a viewer may see of some namespaces: a function that says so of
// each. It asks for all namespaces first, and for each one only when that is refused.
func (a *Access) Allowed(ctx context.Context, v *Viewer, namespaces []string) (func(namespace string) bool, error) {
	all, err := a.allowed(ctx, v, "")
	if err != nil {
		return nil, err
	}
	if all {
		return func(string) bool { return true }, nil
	}
	var (
		mu      sync.Mutex
		yes     = map[string]struct{}{}
		errs    []error
		workers sync.WaitGroup
		next    = make(chan string)
	)
	for range min(parallel, len(namespaces)) {
		workers.Go(func() {
			for namespace := range next {
				ok, err := a.allowed(ctx, v, namespace)
				mu.Lock()
				if ok {
					yes[namespace] = struct{}{}
				}
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	for _, namespace := range namespaces {
		next <- namespace
	}
	close(next)
	workers.Wait()
	return func(namespace string) bool { _, ok := yes[namespace]; return ok }, errors.Join(errs...)
}

func (a *Access) allowed(ctx context.Context, v *Viewer, namespace string) (bool, error) {
	key := right{v.key, namespace}
	if yes, ok := recall(a, a.rights, key); ok {
		return yes, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	extra := make(map[string]authorizationv1.ExtraValue, len(v.user.Extra))
	for name, value := range v.user.Extra {
		extra[name] = authorizationv1.ExtraValue(value)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: v.user.Username, UID: v.user.UID, Groups: v.user.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: Verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: Resource,
		},
	}}
	if err := a.reviews.Create(ctx, review); err != nil {
		return false, fmt.Errorf("%w: review a right: %w", ErrUnavailable, err)
	}
	ttl := noFor
	if review.Status.Allowed {
		ttl = yesFor
	}
	remember(a, a.rights, maxRights, key, review.Status.Allowed, ttl)
	return review.Status.Allowed, nil
}

// Forget drops what is remembered of a token, which somebody has logged out with.
func (a *Access) Forget(token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.viewers, sha256.Sum256([]byte(token)))
}

func recall[K comparable, T any](a *Access, from map[K]answer[T], key K) (value T, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept, ok := from[key]
	if !ok || a.now().After(kept.until) {
		return value, false
	}
	return kept.value, true
}

func remember[K comparable, T any](a *Access, in map[K]answer[T], most int, key K, value T, ttl time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if len(in) >= most {
		for k, kept := range in {
			if now.After(kept.until) {
				delete(in, k)
			}
		}
	}
	for k := range in { // any: it is asked for again
		if len(in) < most {
			break
		}
		delete(in, k)
	}
	in[key] = answer[T]{value, now.Add(ttl)}
}
