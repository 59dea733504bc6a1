// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

// A tab "Resources" for ManifestWorks in Argo CD's UI: what the work agent reports of
// each manifest, the worst first. Argo CD's page hands over the live object and its
// React, so the tab asks no server and needs no right.
((window) => {
  const React = window.React;
  const element = React.createElement;

  // Worst first. Argo CD's health check for ManifestWorks judges in the same way.
  const states = [
    {name: 'Degraded', color: '#e96d76', icon: '✖'},
    {name: 'Progressing', color: '#0dadea', icon: '◌'},
    {name: 'Healthy', color: '#18be94', icon: '✔'},
  ];

  function judge(conditions, generation) {
    const find = (type) => (conditions || []).find((c) => c.type === type);
    const isFalse = (c) => Boolean(c) && c.status === 'False';
    const isOld = (c) => Boolean(c) && (c.observedGeneration || 0) < generation;
    const [applied, available, healthy, progressing] = ['Applied', 'Available', 'Healthy', 'Progressing'].map(find);
    if (isFalse(applied)) {
      return {state: 0, message: applied.message};
    }
    if (!available || isOld(healthy) || isOld(progressing)) {
      return {state: 1, message: 'not evaluated yet'};
    }
    if (isFalse(available)) {
      return {state: 0, message: 'missing on the cluster'};
    }
    if (isFalse(healthy)) {
      return {state: isFalse(progressing) ? 0 : 1, message: healthy.message};
    }
    return {state: 2, message: ''};
  }

  function rowsOf(work) {
    const manifests = (((work || {}).status || {}).resourceStatus || {}).manifests || [];
    const generation = ((work || {}).metadata || {}).generation || 0;
    const key = (row) => [row.kind, row.namespace, row.name].join('/');
    return manifests
      .map(({resourceMeta = {}, conditions}) => ({
        kind: resourceMeta.kind || '', group: resourceMeta.group || '', namespace: resourceMeta.namespace || '', name: resourceMeta.name || '',
        applied: ((conditions || []).find((c) => c.type === 'Applied') || {}).status || 'Unknown',
        ...judge(conditions, generation),
      }))
      .sort((a, b) => a.state - b.state || key(a).localeCompare(key(b)));
  }

  function notices(work) {
    const {metadata = {}, status = {}} = work || {};
    const lines = [];
    const applied = (status.conditions || []).find((c) => c.type === 'Applied');
    const since = (metadata.annotations || {})['apps.open-cluster-management.io/cluster-unreachable'];
    if (since) {
      lines.push(`${metadata.namespace} has not been heard of since ${since}: what stands here is older.`);
    }
    if (!applied || (applied.observedGeneration || 0) < (metadata.generation || 0)) {
      lines.push(`${metadata.namespace} has not applied the latest change yet.`);
    }
    return lines;
  }

  const cell = {padding: '6px 12px 6px 0', textAlign: 'left', verticalAlign: 'top', overflowWrap: 'anywhere'};

  function Row(row) {
    const {name, color, icon} = states[row.state];
    return element('tr', {key: [row.group, row.kind, row.namespace, row.name].join('/'), 'data-state': name, style: {borderTop: '1px solid #dee6eb'}},
      element('td', {style: {...cell, whiteSpace: 'nowrap', color}}, `${icon} ${name}`),
      ...[row.kind, row.namespace, row.name, row.applied, row.message].map((text, i) => element('td', {key: i, style: cell}, text)));
  }

  function Resources({resource}) {
    const [filter, setFilter] = React.useState('');
    const rows = rowsOf(resource);
    const wanted = filter.trim().toLowerCase();
    const shown = rows.filter((row) =>
      [states[row.state].name, row.kind, row.namespace, row.name, row.message].join(' ').toLowerCase().includes(wanted));
    const counts = states
      .map(({name}, state) => ({name, count: rows.filter((row) => row.state === state).length}))
      .filter(({count}) => count > 0)
      .map(({name, count}) => `${count} ${name}`);
    return element('div', {className: 'white-box', style: {padding: '16px'}},
      ...notices(resource).map((line) => element('p', {key: line, role: 'status'}, line)),
      element('div', {style: {display: 'flex', alignItems: 'center', marginBottom: '12px'}},
        element('input', {
          className: 'argo-field', type: 'search', placeholder: 'Filter', 'aria-label': 'Filter resources', style: {maxWidth: '320px', marginRight: '16px'},
          value: filter, onChange: (event) => setFilter(event.target.value),
        }),
        element('span', {role: 'note'}, counts.join(', ') || 'The work agent has reported no resources.')),
      rows.length > 0 && element('table', {style: {width: '100%', borderCollapse: 'collapse', fontSize: '13px'}},
        element('thead', null, element('tr', null,
          ...['Health', 'Kind', 'Namespace', 'Name', 'Applied', 'Message'].map((title) => element('th', {key: title, style: cell}, title)))),
        element('tbody', null, ...shown.map(Row))));
  }

  window.extensionsAPI.registerResourceExtension(Resources, 'work.open-cluster-management.io', 'ManifestWork', 'Resources', {icon: 'fa-layer-group'});
})(window);
