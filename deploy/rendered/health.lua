-- Health of a ManifestWork, from what the work agent reports of its manifests.
-- Argo CD offers Lua's base and table functions here, and no string functions.
local cluster = obj.metadata.namespace
local status = obj.status or {}
local manifests = (status.resourceStatus or {}).manifests or {}
local generation = obj.metadata.generation or 0

local function find(conditions, wanted)
  for _, condition in ipairs(conditions or {}) do
    if condition.type == wanted then
      return condition
    end
  end
end

local function is_false(condition)
  return condition ~= nil and condition.status == "False"
end

-- A condition rule's result holds for the generation that it was evaluated for.
local function is_old(condition)
  return condition ~= nil and (condition.observedGeneration or 0) < generation
end

-- The managed cluster writes these texts. Without string functions a long one cannot be shown in part.
local function bounded(text)
  if #text > 1024 then
    return "a text of " .. #text .. " bytes, see the status of the ManifestWork"
  end
  return text
end

-- At most five are named: the message stands in the list, the tree and the CLI.
local function join(messages)
  local shown = {}
  for i = 1, #messages do
    if i > 5 then
      shown[6] = "and " .. (#messages - 5) .. " more"
      break
    end
    shown[i] = bounded(messages[i])
  end
  return table.concat(shown, "; ")
end

local function evaluate()
  local applied = find(status.conditions, "Applied")
  if applied == nil or (applied.observedGeneration or 0) < generation then
    return "Progressing", cluster .. " has not applied this yet"
  end
  local failed, waiting = {}, {}
  for _, manifest in ipairs(manifests) do
    local meta = manifest.resourceMeta or {}
    local name = meta.name or ""
    if (meta.namespace or "") ~= "" then
      name = meta.namespace .. "/" .. name
    end
    name = (meta.kind or "") .. " " .. name
    local manifest_applied = find(manifest.conditions, "Applied")
    local available = find(manifest.conditions, "Available")
    local healthy = find(manifest.conditions, "Healthy")
    local progressing = find(manifest.conditions, "Progressing")
    if is_false(manifest_applied) then
      table.insert(failed, name .. ": " .. (manifest_applied.message or "not applied"))
    elseif available == nil or is_old(healthy) or is_old(progressing) then
      table.insert(waiting, name .. ": not evaluated yet")
    elseif is_false(available) then
      table.insert(failed, name .. " is missing")
    elseif is_false(healthy) and is_false(progressing) then
      table.insert(failed, name .. ": " .. (healthy.message or "not healthy"))
    elseif is_false(healthy) then
      table.insert(waiting, name .. ": " .. (healthy.message or "not healthy yet"))
    end
  end
  if #failed > 0 then
    return "Degraded", join(failed)
  end
  if is_false(applied) then
    return "Degraded", bounded(applied.message or "not applied")
  end
  if #waiting > 0 then
    return "Progressing", join(waiting)
  end
  return "Healthy", #manifests .. " of " .. #manifests .. " resources"
end

local health, message = evaluate()
local annotations = obj.metadata.annotations or {}
local unreachable = annotations["apps.open-cluster-management.io/cluster-unreachable"]
if unreachable ~= nil then
  message = cluster .. " not heard of since " .. unreachable .. "; it was: " .. health .. ", " .. message
  health = "Unknown"
  -- A hook that is Unknown fails the sync, and Argo CD does not try that commit again.
  if annotations["argocd.argoproj.io/hook"] ~= nil then
    health = "Progressing"
  end
end
if obj.metadata.deletionTimestamp ~= nil then
  health = "Progressing"
  message = cluster .. " is removing " .. #manifests .. " resources"
  if unreachable ~= nil then
    message = message .. ", but is not heard of since " .. unreachable
  end
end
return {status = health, message = message}
